#include "core/kernels/kv_cache.hpp"

#include "core/base/bytes.hpp"

namespace etna::kernels {

uint64_t layer_cache_bytes(CacheFormat format, uint32_t pages, uint32_t kv_heads, uint32_t head_dim) {
    const uint64_t elements = round_up(head_dim, 8);
    uint64_t place_bytes = elements * (format == CacheFormat::f32 ? 4 : 2);
    if (format == CacheFormat::q8_0) {
        constexpr uint64_t elements_per_scale_word = 64; // a scale for each 32, two in a word
        place_bytes = elements + uint64_t{4} * divide_up(elements, elements_per_scale_word);
    }
    return uint64_t{pages} * kv_heads * page_tokens * place_bytes;
}

bool cache_fits(const LayerCache& cache) {
    const auto holds = [&](vk::Range range, CacheFormat format) {
        return range.bytes >= layer_cache_bytes(format, cache.pages, cache.kv_heads, cache.head_dim);
    };
    if (cache.latent_dim > 0) {
        return cache.latent_dim % 2 == 0 && cache.latent_dim <= cache.head_dim &&
               holds(cache.keys, cache.formats.keys);
    }
    return holds(cache.keys, cache.formats.keys) && holds(cache.values, cache.formats.values);
}

} // namespace etna::kernels

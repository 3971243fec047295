#pragma once

#include "core/kernels/kv_cache.hpp"
#include "core/model/config.hpp"

#include <cstdint>
#include <vector>

namespace etna::model {

/// The state of a layer: keys and values by page, or states by slot; empty without a mixer.
struct LayerState {
    kernels::LayerCache cache = {};    ///< of attention
    std::vector<vk::Range> parts = {}; ///< of a recurrent layer: MixerConfig::parts(), each [slots]
    uint32_t slots = 0;                ///< of `parts`
};

/// The keys and values of an attention layer in `pages` pages, without their ranges.
inline kernels::LayerCache layer_cache(const AttentionConfig& attention, kernels::CacheFormats formats,
                                       uint32_t pages) {
    return {.formats = formats,
            .kv_heads = attention.kv_heads,
            .head_dim = attention.head_dim,
            .pages = pages,
            .latent_dim = attention.latent_dim()};
}

/// Bytes of a layer's keys and values.
struct CacheBytes {
    uint64_t keys = 0;
    uint64_t values = 0; ///< 0 with a latent
};

inline CacheBytes cache_bytes(const kernels::LayerCache& cache) {
    const auto bytes = [&](kernels::CacheFormat format) {
        return kernels::layer_cache_bytes(format, cache.pages, cache.kv_heads, cache.head_dim);
    };
    return {.keys = bytes(cache.formats.keys),
            .values = cache.latent_dim > 0 ? 0 : bytes(cache.formats.values)};
}

} // namespace etna::model

#include "tests/kernels/cache_content.hpp"

#include "tests/reference/decode.hpp"

#include <cstring>

namespace etna::test {
namespace {

template <class T>
T load(std::span<const std::byte> bytes, std::size_t at) {
    T value{};
    std::memcpy(&value, bytes.subspan(at, sizeof value).data(), sizeof value);
    return value;
}

} // namespace

CacheContent read_cache(std::span<const std::byte> cache, const CachePosition& position) {
    const std::size_t elements = (std::size_t{position.head_dim} + 7) / 8 * 8;
    const std::size_t scale_bytes = (elements + 63) / 64 * 4;
    const std::size_t piece = std::size_t{position.page} * position.kv_heads + position.kv_head;
    const std::size_t flat_position = piece * kernels::page_tokens + position.in_page;
    CacheContent content;
    for (std::size_t d = 0; d < elements; ++d) {
        double scale = 0;
        if (position.format == kernels::CacheFormat::f32) {
            content.values.push_back(load<float>(cache, (flat_position * elements + d) * 4));
        } else if (position.format == kernels::CacheFormat::f16) {
            const auto bits = load<uint16_t>(cache, (flat_position * elements + d) * 2);
            content.values.push_back(reference::half_to_double(bits));
        } else {
            const std::size_t codes = piece * kernels::page_tokens * (elements + scale_bytes);
            const std::size_t scales =
                codes + kernels::page_tokens * elements + position.in_page * scale_bytes;
            scale = reference::half_to_double(load<uint16_t>(cache, scales + d / 32 * 2));
            content.values.push_back(scale * load<int8_t>(cache, codes + position.in_page * elements + d));
        }
        content.scales.push_back(scale);
    }
    return content;
}

} // namespace etna::test

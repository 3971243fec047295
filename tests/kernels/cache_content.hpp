#pragma once

#include "core/kernels/kv_cache.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace etna::test {

/// A position of one kv head in a layer's keys or values.
struct CachePosition {
    kernels::CacheFormat format = kernels::CacheFormat::f16;
    uint32_t kv_heads = 1;
    uint32_t head_dim = 1;
    uint32_t page = 0;
    uint32_t kv_head = 0;
    uint32_t in_page = 0; ///< index in the page
};

/// The content of a position, as doubles [head_dim rounded up to 8], and the scale of each element (q8_0;
/// else 0). Written from the layout's description in shaders/include/cache.glsl.
struct CacheContent {
    std::vector<double> values;
    std::vector<double> scales;
};
CacheContent read_cache(std::span<const std::byte> cache, const CachePosition& position);

} // namespace etna::test

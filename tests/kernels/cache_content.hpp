#pragma once

#include "core/kernels/operations.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace etna::test {

/// A place of one kv head in a layer's keys or values.
struct CachePlace {
    kernels::CacheFormat format = kernels::CacheFormat::f16;
    uint32_t kv_heads = 1;
    uint32_t head_dim = 1;
    uint32_t page = 0;
    uint32_t kv_head = 0;
    uint32_t place = 0; ///< in the page
};

/// What a place holds, as doubles [head_dim rounded up to 8], and the scale of each element (q8_0; else 0).
/// Written from the layout's description in shaders/include/cache.glsl.
struct CacheContent {
    std::vector<double> values;
    std::vector<double> scales;
};
CacheContent read_cache(std::span<const std::byte> cache, const CachePlace& place);

} // namespace etna::test

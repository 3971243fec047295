#pragma once

#include "core/vk/range.hpp"

#include <cstdint>

namespace etna::kernels {

/// How elements of the key/value cache are stored; numbers as in shaders/include/cache.glsl.
enum class CacheFormat : uint8_t {
    f32,
    f16,
    q8_0, ///< 8 bits, and an f16 scale for each 32 elements of a head
};
constexpr uint32_t cache_format_count = 3;
struct CacheFormats {
    CacheFormat keys = CacheFormat::f16;
    CacheFormat values = CacheFormat::f16;

    bool operator==(const CacheFormats&) const = default;
};

/// Positions per page, fixed: also the attention kernel's tile.
constexpr uint32_t page_tokens = 32;

/// One layer's cache. Keys and values each: [page][kv_head][page_tokens][head_dim] of their CacheFormat.
struct LayerCache {
    CacheFormats formats = {};
    uint32_t kv_heads = 0;
    uint32_t head_dim = 0; ///< even, at most head_dim_max
    uint32_t pages = 0;
    vk::Range keys = {};
    vk::Range values = {};
};
constexpr uint32_t head_dim_max = 512;
/// Bytes of one layer's keys, or of its values.
uint64_t layer_cache_bytes(CacheFormat format, uint32_t pages, uint32_t kv_heads, uint32_t head_dim);
/// Whether a cache's ranges are large enough for its shape.
bool cache_fits(const LayerCache& cache);

/// Page tables of one cache group: u32 words that RowInfo::table points into.
struct PageTables {
    vk::Range range = {};
};

} // namespace etna::kernels

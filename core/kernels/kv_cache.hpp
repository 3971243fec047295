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

constexpr uint32_t head_dim_max = 512;
constexpr uint32_t latent_key_max = 1024; ///< the same, of keys that hold the values

/// One layer's cache. Keys and values each: [page][kv_head][page_tokens][head_dim] of their CacheFormat.
struct LayerCache {
    CacheFormats formats = {};
    uint32_t kv_heads = 0;
    uint32_t head_dim = 0; ///< even, at most head_dim_max
    uint32_t pages = 0;
    vk::Range keys = {};
    vk::Range values = {};   ///< empty with a latent
    uint32_t latent_dim = 0; ///< leading elements of a key that are its value; 0: values are stored apart

    /// Elements of a value.
    [[nodiscard]] uint32_t value_dim() const { return latent_dim > 0 ? latent_dim : head_dim; }
    /// Where attention reads values, and their format.
    [[nodiscard]] vk::Range stored_values() const { return latent_dim > 0 ? keys : values; }
    [[nodiscard]] CacheFormat values_format() const { return latent_dim > 0 ? formats.keys : formats.values; }
};
/// Bytes of one layer's keys, or of its values.
uint64_t layer_cache_bytes(CacheFormat format, uint32_t pages, uint32_t kv_heads, uint32_t head_dim);
/// Whether a cache's ranges are large enough for its shape.
bool cache_fits(const LayerCache& cache);

/// Page tables of one cache group: u32 words that RowInfo::table points into.
struct PageTables {
    vk::Range range = {};

    bool operator==(const PageTables&) const = default;
};

} // namespace etna::kernels

#pragma once

#include "core/kernels/kv_cache.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/noise.hpp"

#include <cstdint>
#include <vector>

namespace etna::kernels {

/// A layer's cache in a run's memory, with the pages of one sequence in descending order.
struct RunCache {
    LayerCache device;
    uint32_t head_stride = 0; ///< elements of a position
    std::vector<uint32_t> pages;
    std::vector<uint32_t> table; ///< PageTables: words before the sequence's table, then its pages
    static constexpr uint32_t table_start = 2;

    /// Offsets of an element at a position of the sequence and, in q8_0, of its scale: bytes from the start
    /// of keys or values, which are of one format (shaders/include/cache.glsl).
    struct ElementOffset {
        uint64_t element;
        uint64_t scale;
    };
    [[nodiscard]] ElementOffset offset_of(uint32_t position, uint32_t kv_head, uint32_t dim) const;
};

struct CacheShape {
    CacheFormat format = CacheFormat::f32; ///< of keys and values
    uint32_t kv_heads = 1;
    uint32_t head_dim = 2;
    uint32_t positions = 1;
};

/// Keys and values of the sequence, [position][kv_head][head_dim].
struct CacheContent {
    std::vector<double> keys;
    std::vector<double> values;
};

/// An unwritten cache.
RunCache put_cache(KernelRun& run, const CacheShape& shape);
/// A cache of noise in (-2, 2), and its numbers.
RunCache put_noise_cache(KernelRun& run, Noise& noise, const CacheShape& shape, CacheContent& content);

/// Expects numbers at a position of keys or values, within the format's precision.
void expect_position(KernelRun& run, const RunCache& cache, vk::Range keys_or_values, uint32_t position,
                     uint32_t kv_head, const std::vector<Bounded>& expected);

} // namespace etna::kernels

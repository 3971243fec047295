#pragma once

#include "core/kernels/operations/linear.hpp"
#include "core/kernels/self_check/weights.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace etna::kernels {

/// Returns the error bound of a product. Rounding an input to f16 adds 2^-11 of its term, or all of it below
/// f16's range; the offset of the codes (tile_codes.glsl) increases the rounding errors of sums.
double tiles_error(const NoiseMatrices& weight, uint64_t row, std::span<const float> x);

/// Error that rounding weights and inputs to f16 adds to a product, in any rounding direction: 2^-10 of each
/// factor, or 2^-24 if it is small, for inputs as a part of the largest. Quantised weights in tiles are
/// computed in f16: scale, offset, their product with the code and the sum are rounded.
double half_error(const NoiseMatrices& weight, uint64_t row, std::span<const float> x);

/// Bytes of the codes that a kernel reads, or 0.
uint32_t code_bytes_of(KernelRun& run, bool reads_codes);

/// Multiplies a row of a tiled matrix by x, of which a kernel reads f16 elements, or codes of `code_bytes`
/// bytes.
Bounded tiles_product(const NoiseMatrices& weight, uint64_t row, std::span<const float> x,
                      uint32_t code_bytes);

/// Rows for matrices in tiles, whose norm is pending.
struct PendingInput {
    Activations rows; ///< packed
    PendingNorm norm;
    std::vector<float> scaled;   ///< numbers that the packed form represents, [rows][columns]
    std::vector<double> factors; ///< of the norm, [rows]

    /// A row of a matrix times the norm of input row c.
    [[nodiscard]] Bounded product(const NoiseMatrices& weight, uint64_t row, uint32_t c,
                                  uint32_t code_bytes) const;
};
PendingInput put_pending_input(KernelRun& run, Noise& noise, uint32_t rows, uint32_t columns);

} // namespace etna::kernels

#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/rows.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace etna::kernels {

/// A norm that the producer of a matrix's inputs has left pending (FusedLinear::next_norm): the inputs'
/// packed form represents x times the norm's weights, and the matrix divides its products by sqrt(mean(x^2) +
/// epsilon).
struct PendingNorm {
    vk::Range squares = {}; ///< f32 [rows][columns / tile_columns]: sums of x^2
    float epsilon = 0;

    [[nodiscard]] vk::Range rows(uint32_t first, uint32_t count, uint32_t columns) const {
        const uint64_t row_bytes = uint64_t{columns} / tile_columns * sizeof(float);
        return squares.part(first * row_bytes, count * row_bytes);
    }
};

/// y[row] (=|+=) W x[row] for rows [first, first + count). On the decode path the order of every sum
/// depends on shape and layout only, never on count; the same holds on the prefill path, with another kernel.
/// Decode rows of a matrix in tiles read the input's packed form, and so do prefill rows that matrix units
/// may round (prompts_read_packed()); others read its elements.
struct Linear {
    Matrix weight;
    Activations input;
    Activations output; ///< columns == weight.rows
    uint32_t first = 0;
    uint32_t count = 0;
    RowPath path = RowPath::decode;
    Store store = Store::replace;
    std::optional<vk::Range> bias = std::nullopt; ///< f32 [weight.rows]
    OperandPrecision factors = OperandPrecision::f16_allowed;
    std::optional<PendingNorm> norm = std::nullopt; ///< of decode rows of a matrix in tiles
};
void linear(const Launcher& launcher, const Linear& operation);

/// Packs what linear() reads packed and what is not packed yet. Linears of one input, of different rows, need
/// one barrier less if all of it is packed before the first.
void pack_input(const Launcher& launcher, const Linear& operation);

/// A matrix of a stack, with its output and bias as in Linear.
struct StackedMatrix {
    Matrix weight;
    Activations output;
    std::optional<vk::Range> bias = std::nullopt;
};
constexpr uint32_t stacked_matrices_max = 3;

/// Linear with Store::replace for decode rows of up to stacked_matrices_max matrices over the same input, in
/// one dispatch. The matrices are in tiles, of one format, in one part each.
struct LinearStack {
    std::span<const StackedMatrix> matrices;
    Activations input;
    uint32_t first = 0;
    uint32_t count = 0;
    std::optional<PendingNorm> norm = std::nullopt;
};
void linear_stack(const Launcher& launcher, const LinearStack& operation);

extern const Operation linear_operation;

} // namespace etna::kernels

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
/// Decode rows of a matrix in tiles read PackedForm::blocks of the input, prefill rows that matrix units may
/// round (prompts_read_packed()) PackedForm::f16; others read its elements.
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
    vk::Range parts = {};                           ///< linear_part_bytes(): parts of sums, overwritten
};
void linear(const Launcher& launcher, const Linear& operation);

/// Packs what linear() reads packed and what is not packed yet. Linears of one input, of different rows, need
/// one barrier less if all of it is packed before the first.
void pack_input(const Launcher& launcher, const Linear& operation);

/// Prefill rows whose sums are split along k at a time; more are several dispatches.
constexpr uint32_t prompt_part_rows = 512;

/// Bytes of Linear::parts or LinearStack::parts, for matrices that have `weight_rows` rows together. 0: sums
/// are not split.
uint64_t linear_part_bytes(const PlanTarget& target, Layout layout, uint32_t weight_rows, uint32_t columns,
                           RowPath path, uint32_t count);

/// A matrix of a stack, with its output and bias as in Linear.
struct StackedMatrix {
    Matrix weight;
    Activations output;
    std::optional<vk::Range> bias = std::nullopt;
};
constexpr uint32_t stacked_matrices_max = 3;

/// Linear with Store::replace of up to stacked_matrices_max matrices over the same input, in one dispatch, or
/// two if their sums are split. The matrices are in tiles, of one format, in one part each; prefill rows need
/// matrix units (prompts_read_packed()).
struct LinearStack {
    std::span<const StackedMatrix> matrices;
    Activations input;
    uint32_t first = 0;
    uint32_t count = 0;
    std::optional<PendingNorm> norm = std::nullopt; ///< of decode rows
    RowPath path = RowPath::decode;
    vk::Range parts = {}; ///< linear_part_bytes(): parts of sums, overwritten
};
void linear_stack(const Launcher& launcher, const LinearStack& operation);

extern const Operation linear_operation;

} // namespace etna::kernels

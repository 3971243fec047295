#pragma once

#include "core/kernels/policy.hpp"

#include <cstdint>
#include <optional>

// The parts of policy.hpp for kernels with matrix units, which serve prefill rows.
namespace etna::kernels {

/// A workgroup's outputs, and elements of a step along k, of linear_prompt and linear_matrix.
constexpr uint32_t prompt_tile_rows = 64;
constexpr uint32_t prompt_tile_columns = 32;
constexpr uint32_t prompt_tile_depth = 32; ///< of matrix_tiles too

/// Whether the target runs a variant, rightly.
inline bool runs(const PlanTarget& target, shaders::Variant variant) {
    return usable(variant, target.profile).has_value() && !target.untrusted.contains(variant);
}

/// A plan of `matrix` for a matrix in rows; empty if the target cannot run it.
std::optional<LinearPlan> matrix_plan(const PlanTarget& target, Format format);

/// The plan of `expert_matrix` where an expert has so many pairs on the average, or for groups of tiles of so
/// many; empty if the device's matrices do not divide its tiles, or it has none.
std::optional<LinearPlan> expert_matrix_plan(const PlanTarget& target, Format format, uint32_t pairs);

/// A plan of `matrix_tiles` for a matrix in tiles of so many rows, and `count` rows of the batch.
std::optional<LinearPlan> matrix_tiles_plan(const PlanTarget& target, Format format, uint32_t rows,
                                            uint32_t columns, uint32_t count);

/// A plan of `prompt`, which serves prefill rows of GPUs with matrix units unless only the general kernel is
/// trusted; empty if another kernel serves the rows.
std::optional<AttentionPlan> prompt_attention_plan(const PlanTarget& target, const AttentionShape& shape,
                                                   RowPath path);

} // namespace etna::kernels

#pragma once

#include "core/kernels/operations/linear.hpp"
#include "core/kernels/policy.hpp"

namespace etna::kernels {

/// The kernel of prefill rows that linear() and linear_stack() share: a stack of matrices in tiles, each in
/// one part, on matrix units. Sums that the plan splits along k pass through `parts` of linear_part_bytes(),
/// at most prompt_part_rows rows at a time. The input has PackedForm::f16.
void matrix_tiles(const Launcher& launcher, const LinearPlan& plan, const LinearStack& stack, Store store);

} // namespace etna::kernels

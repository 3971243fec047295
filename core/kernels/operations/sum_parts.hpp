#pragma once

#include "core/kernels/operation.hpp"
#include "core/kernels/operations/linear.hpp"
#include "core/kernels/rows.hpp"

#include <cstdint>
#include <span>

namespace etna::kernels {

/// y[row] (=|+=) factor[row] sum_s part[s][row] + bias for rows [first, first + count): adds the parts of
/// sums that matrix units have split along k, in their order.
struct SumParts {
    vk::Range parts; ///< f32 [splits][count][rows of all matrices]
    uint32_t splits = 1;
    std::span<const StackedMatrix> matrices; ///< at most stacked_matrices_max; their weights are not read
    Activations input;                       ///< with PackedForm::f16, for its factors
    uint32_t first = 0;
    uint32_t count = 0;
    Store store = Store::replace;
};
void sum_parts(const Launcher& launcher, const SumParts& operation);

extern const Operation sum_parts_operation;

} // namespace etna::kernels

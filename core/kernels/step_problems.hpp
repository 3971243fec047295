#pragma once

#include "core/kernels/kernel_problems.hpp"

#include <vector>

namespace etna::kernels {

/// Appends the kernels of a step that read no large matrix: embedding, rotation, norms, gates, the routing
/// and sums of a mixture, recurrent mixers, and sampling; with one row and with a prompt's, where both occur.
/// Pure.
void add_step_problems(std::vector<KernelProblem>& problems, const PlanTarget& target);

} // namespace etna::kernels

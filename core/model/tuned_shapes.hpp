#pragma once

#include "core/kernels/library.hpp"
#include "core/kernels/tuning.hpp"
#include "core/model/model.hpp"

#include <vector>

namespace etna::model {

/// The shapes of a model's matrices and attention whose sizes can be measured on a target: of its dispatches
/// for decode rows, with the matrices that share one (fusion.hpp, record_projections()) as one shape. Each is
/// listed once; experts' matrices have none. Pure.
std::vector<kernels::TunedShape> tuned_shapes(const Blueprint& blueprint, const kernels::PlanTarget& target);

} // namespace etna::model

#pragma once

#include "core/model/step.hpp"

namespace etna::model {

/// A matrix and its bias, if it has one.
struct LinearWeights {
    kernels::Matrix weight;
    std::optional<vk::Range> bias;
};

/// Records output (=|+=) W input for every run of the step, each on its path, without a barrier between.
void record_linear(const Recording& recording, const LinearWeights& weights,
                   const kernels::Activations& input, const kernels::Activations& output,
                   kernels::Store store);

} // namespace etna::model

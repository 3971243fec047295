#include "core/model/blocks/linear_runs.hpp"

namespace etna::model {

void record_linear(const Recording& recording, const LinearWeights& weights,
                   const kernels::Activations& input, const kernels::Activations& output,
                   kernels::Store store) {
    for (const Run& run : recording.step.runs) {
        kernels::linear(recording.library, recording.recorder,
                        {.weight = weights.weight,
                         .input = input,
                         .output = output,
                         .first = run.first,
                         .count = run.count,
                         .path = run.path,
                         .store = store,
                         .bias = weights.bias});
    }
}

} // namespace etna::model

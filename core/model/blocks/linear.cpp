#include "core/model/blocks/linear.hpp"

#include "core/kernels/halve.hpp"

namespace etna::model {

void record_linear(const Recording& recording, const LinearWeights& weights,
                   const kernels::Activations& input, const kernels::Activations& output,
                   kernels::Store store) {
    for (const RowRange& range : recording.step.row_ranges) {
        kernels::linear(recording.library, recording.recorder,
                        {.weight = weights.weight,
                         .input = input,
                         .output = output,
                         .first = range.first,
                         .count = range.count,
                         .path = range.path,
                         .store = store,
                         .bias = weights.bias,
                         .factors = weights.factors});
    }
}

void record_halves(const Recording& recording, const kernels::Activations& input, bool requested) {
    bool has_decode_rows = false;
    for (const RowRange& range : recording.step.row_ranges) {
        if (!requested || range.path != kernels::RowPath::decode || range.count == 0)
            continue;
        kernels::halve(recording.library, recording.recorder,
                       {.rows = input, .first = range.first, .count = range.count});
        has_decode_rows = true;
    }
    if (has_decode_rows)
        recording.recorder.barrier();
}

void record_norm(const Recording& recording, const InputNorm& norm, bool halves) {
    const Activations& activations = recording.activations;
    kernels::rms_norm(
        recording.library, recording.recorder,
        {.input = activations.residual,
         .output = activations.hidden,
         .weight = norm.weight,
         .count = recording.step.rows,
         .indices = std::nullopt,
         .epsilon = norm.epsilon,
         .nan_probe = kernels::NanProbe{.nan_probes = activations.nan_probes, .nan_probe = norm.nan_probe},
         .halves = halves});
    recording.recorder.barrier();
}

void record_output(const Recording& recording, const LinearWeights& weights,
                   const kernels::Activations& input, const PostNorm& norm) {
    const Activations& activations = recording.activations;
    if (!norm.weight) {
        record_linear(recording, weights, input, activations.residual, kernels::Store::add);
        return;
    }
    record_linear(recording, weights, input, activations.hidden, kernels::Store::replace);
    recording.recorder.barrier();
    kernels::rms_norm(recording.library, recording.recorder,
                      {.input = activations.hidden,
                       .output = activations.residual,
                       .weight = *norm.weight,
                       .count = recording.step.rows,
                       .indices = std::nullopt,
                       .epsilon = norm.epsilon,
                       .store = kernels::Store::add});
}

} // namespace etna::model

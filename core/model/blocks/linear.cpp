#include "core/model/blocks/linear.hpp"

#include "core/kernels/operations/fused_linear.hpp"
#include "core/kernels/policy.hpp"

#include <array>

namespace etna::model {
namespace {

kernels::Linear linear_of(const RowRange& range, const LinearWeights& weights,
                          const kernels::Activations& input, const kernels::Activations& output,
                          kernels::Store store) {
    return {.weight = weights.weight,
            .input = input,
            .output = output,
            .first = range.first,
            .count = range.count,
            .path = range.path,
            .store = store,
            .bias = weights.bias,
            .factors = weights.factors};
}

bool is_stackable(const kernels::Matrix& weight) {
    return weight.layout.arrangement == kernels::Arrangement::tiles && weight.further.empty();
}

/// Packs what the step's rows read packed, before the first of them reads it.
void pack_input(const Recording& recording, const LinearWeights& weights, const kernels::Activations& input) {
    for (const RowRange& range : recording.step.row_ranges)
        kernels::pack_input(recording.launcher,
                            linear_of(range, weights, input, {}, kernels::Store::replace));
}

/// Decode rows of projections: each dispatch takes the matrices that can be stacked with its first one.
void record_stacks(const Recording& recording, const RowRange& range, const InputNorm& norm,
                   std::span<const Projection> projections) {
    const kernels::Activations& hidden = recording.activations.hidden;
    std::array<bool, projections_max> is_done{};
    for (std::size_t i = 0; i < projections.size(); ++i) {
        const auto& [weights, output] = projections[i];
        if (is_done[i])
            continue;
        if (!is_stackable(weights.weight)) {
            kernels::Linear one = linear_of(range, weights, hidden, output, kernels::Store::replace);
            one.norm = pending_norm(recording, norm);
            kernels::linear(recording.launcher, one);
            continue;
        }
        std::array<kernels::StackedMatrix, kernels::stacked_matrices_max> stack;
        std::size_t size = 0;
        for (std::size_t k = i; k < projections.size() && size < stack.size(); ++k) {
            const auto& [other, other_output] = projections[k];
            if (is_done[k] || !is_stackable(other.weight) || other.weight.layout != weights.weight.layout)
                continue;
            stack[size++] = {.weight = other.weight, .output = other_output, .bias = other.bias};
            is_done[k] = true;
        }
        kernels::linear_stack(recording.launcher, {.matrices = std::span(stack).first(size),
                                                   .input = hidden,
                                                   .first = range.first,
                                                   .count = range.count,
                                                   .norm = pending_norm(recording, norm)});
    }
}

/// Decode rows of an output matrix that prepares the next norm.
void record_fused_output(const Recording& recording, const RowRange& range, const OutputMatrix& output,
                         const kernels::Activations& input) {
    const Activations& activations = recording.activations;
    const Arena::Scope scope(recording.arena);
    kernels::fused_linear(
        recording.launcher,
        {.weight = output.weights.weight,
         .input = input,
         .output = activations.residual,
         .packs = activations.hidden,
         .next_norm = kernels::NextNorm{.weight = output.next_norm->weight,
                                        .squares = activations.squares,
                                        .nan_probe = {.nan_probes = activations.nan_probes,
                                                      .nan_probe = output.next_norm->nan_probe}},
         .counters = fused_counters(recording, output.weights.weight.rows),
         .first = range.first,
         .count = range.count,
         .store = kernels::Store::add,
         .bias = output.weights.bias});
}

} // namespace

void record_linear(const Recording& recording, const LinearWeights& weights,
                   const kernels::Activations& input, const kernels::Activations& output,
                   kernels::Store store) {
    pack_input(recording, weights, input);
    for (const RowRange& range : recording.step.row_ranges)
        kernels::linear(recording.launcher, linear_of(range, weights, input, output, store));
}

void record_projections(const Recording& recording, const RowRange& range, const InputNorm& norm,
                        std::span<const Projection> projections) {
    if (range.path == kernels::RowPath::decode) {
        record_stacks(recording, range, norm, projections);
        return;
    }
    for (const auto& [weights, output] : projections) {
        kernels::linear(recording.launcher, linear_of(range, weights, recording.activations.hidden, output,
                                                      kernels::Store::replace));
    }
}

void record_projections(const Recording& recording, const InputNorm& norm,
                        std::span<const Projection> projections) {
    for (const RowRange& range : recording.step.row_ranges)
        record_projections(recording, range, norm, projections);
}

std::optional<kernels::PendingNorm> pending_norm(const Recording& recording, const InputNorm& norm) {
    if (!norm.is_pending)
        return std::nullopt;
    return kernels::PendingNorm{.squares = recording.activations.squares, .epsilon = norm.epsilon};
}

bool prompts_read_packed(const Recording& recording) {
    return kernels::prompts_read_packed(recording.launcher.target());
}

vk::Range fused_counters(const Recording& recording, uint32_t columns) {
    return recording.arena.zeros(kernels::fused_counter_bytes(recording.step.rows, columns));
}

RowRange rows_outside(const Step& step, bool decode_is_fused) {
    const RowRange& front = step.row_ranges.front();
    const bool has_fused = decode_is_fused && front.path == kernels::RowPath::decode;
    const uint32_t first = has_fused ? front.count : 0;
    return {.path = kernels::RowPath::prefill, .first = first, .count = step.rows - first};
}

void record_norm(const Recording& recording, const InputNorm& norm, bool packed) {
    if (norm.is_left)
        return;
    const Activations& activations = recording.activations;
    const RowRange rows = rows_outside(recording.step, norm.is_pending);
    const bool are_read = !norm.is_pending || prompts_read_packed(recording);
    kernels::rms_norm(
        recording.launcher,
        {.input = activations.residual,
         .output = activations.hidden,
         .weight = norm.weight,
         .input_first = rows.first,
         .output_first = rows.first,
         .count = rows.count,
         .indices = std::nullopt,
         .epsilon = norm.epsilon,
         .nan_probe = kernels::NanProbe{.nan_probes = activations.nan_probes, .nan_probe = norm.nan_probe},
         .packed = (packed || (norm.is_shared && activations.hidden.packed.bytes > 0)) && are_read,
         .subtracts_mean = norm.subtracts_mean,
         .bias = norm.bias,
         .replaces_input = norm.replaces_residual});
}

void record_output(const Recording& recording, const OutputMatrix& output,
                   const kernels::Activations& input) {
    const Activations& activations = recording.activations;
    const auto& [weights, post_norm, next_norm] = output;
    if (post_norm.weight) {
        record_linear(recording, weights, input, activations.hidden, kernels::Store::replace);
        kernels::rms_norm(recording.launcher, {.input = activations.hidden,
                                               .output = activations.residual,
                                               .weight = *post_norm.weight,
                                               .count = recording.step.rows,
                                               .indices = std::nullopt,
                                               .epsilon = post_norm.epsilon,
                                               .store = kernels::Store::add,
                                               .scale = post_norm.scale});
        return;
    }
    pack_input(recording, weights, input);
    for (const RowRange& range : recording.step.row_ranges) {
        if (next_norm && range.path == kernels::RowPath::decode) {
            record_fused_output(recording, range, output, input);
        } else {
            kernels::linear(recording.launcher,
                            linear_of(range, weights, input, activations.residual, kernels::Store::add));
        }
    }
}

} // namespace etna::model

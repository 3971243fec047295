#include "core/model/blocks/linear.hpp"

#include "core/kernels/operations/fused_linear.hpp"
#include "core/kernels/policy.hpp"

#include <algorithm>
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

bool is_stackable(const LinearWeights& weights, kernels::RowPath path) {
    return weights.weight.layout.arrangement == kernels::Arrangement::tiles &&
           weights.weight.further.empty() &&
           (path == kernels::RowPath::decode || weights.factors == kernels::OperandPrecision::f16_allowed);
}

/// Memory for the parts of sums of matrices with so many rows; empty if they are not split.
vk::Range parts_for(const Recording& recording, const RowRange& range, const kernels::Matrix& weight,
                    uint32_t rows) {
    const uint64_t bytes = kernels::linear_part_bytes(recording.launcher.target(), weight.layout, rows,
                                                      weight.columns, range.path, range.count);
    return bytes > 0 ? recording.arena.bytes(bytes) : vk::Range{};
}

/// One matrix, with scratch memory of its own.
void record_one(const Recording& recording, kernels::Linear linear, const RowRange& range) {
    const Arena::Scope scope(recording.arena);
    linear.parts = parts_for(recording, range, linear.weight, linear.weight.rows);
    kernels::linear(recording.launcher, linear);
}

/// Packs what the step's rows read packed, before the first of them reads it.
void pack_input(const Recording& recording, const LinearWeights& weights, const kernels::Activations& input) {
    for (const RowRange& range : recording.step.row_ranges)
        kernels::pack_input(recording.launcher,
                            linear_of(range, weights, input, {}, kernels::Store::replace));
}

/// Projections of one kind of row: each dispatch takes the matrices that can be stacked with its first one.
void record_stacks(const Recording& recording, const RowRange& range, const InputNorm& norm,
                   std::span<const Projection> projections) {
    const kernels::Activations& hidden = recording.activations.hidden;
    const auto pending =
        range.path == kernels::RowPath::decode ? pending_norm(recording, norm) : std::nullopt;
    std::array<bool, projections_max> is_done{};
    for (std::size_t i = 0; i < projections.size(); ++i) {
        const auto& [weights, output] = projections[i];
        if (is_done[i])
            continue;
        if (!is_stackable(weights, range.path)) {
            kernels::Linear one = linear_of(range, weights, hidden, output, kernels::Store::replace);
            one.norm = pending;
            record_one(recording, one, range);
            continue;
        }
        std::array<kernels::StackedMatrix, kernels::stacked_matrices_max> stack;
        std::size_t size = 0;
        uint32_t rows = 0;
        for (std::size_t k = i; k < projections.size() && size < stack.size(); ++k) {
            const auto& [other, other_output] = projections[k];
            if (is_done[k] || !is_stackable(other, range.path) ||
                other.weight.layout != weights.weight.layout)
                continue;
            stack[size++] = {.weight = other.weight, .output = other_output, .bias = other.bias};
            rows += other.weight.rows;
            is_done[k] = true;
        }
        const Arena::Scope scope(recording.arena);
        kernels::linear_stack(recording.launcher,
                              {.matrices = std::span(stack).first(size),
                               .input = hidden,
                               .first = range.first,
                               .count = range.count,
                               .norm = pending,
                               .path = range.path,
                               .parts = parts_for(recording, range, weights.weight, rows)});
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
        record_one(recording, linear_of(range, weights, input, output, store), range);
}

void record_projections(const Recording& recording, const RowRange& range, const InputNorm& norm,
                        std::span<const Projection> projections) {
    if (range.path == kernels::RowPath::decode || prompts_read_packed(recording.launcher.target())) {
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

bool has_decode_rows(const Step& step) {
    return step.row_ranges.front().path == kernels::RowPath::decode && step.row_ranges.front().count > 0;
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

void record_norm_rows(const Recording& recording, kernels::RmsNorm norm, bool is_read,
                      kernels::PackedForm prefill_form) {
    using enum kernels::PackedForm;
    const uint32_t first = norm.output_first;
    const uint32_t end = first + norm.count;
    const bool reads_f16 = prefill_form == f16 && prompts_read_packed(recording.launcher.target());
    if (!is_read || !reads_f16) {
        const bool reads_blocks = prefill_form == blocks || (has_decode_rows(recording.step) &&
                                                             first < recording.step.row_ranges.front().count);
        norm.packs = is_read && reads_blocks ? std::optional(blocks) : std::nullopt;
        kernels::rms_norm(recording.launcher, norm);
        return;
    }
    for (const RowRange& range : recording.step.row_ranges) {
        const uint32_t begin = std::max(range.first, first);
        const uint32_t own_end = std::min(range.first + range.count, end);
        if (begin >= own_end)
            continue;
        norm.input_first = norm.output_first = begin;
        norm.count = own_end - begin;
        norm.packs = range.path == kernels::RowPath::decode ? blocks : f16;
        kernels::rms_norm(recording.launcher, norm);
    }
}

void record_norm(const Recording& recording, const InputNorm& norm, bool is_read,
                 kernels::PackedForm prefill_form) {
    if (norm.is_left)
        return;
    const Activations& activations = recording.activations;
    const RowRange rows = rows_outside(recording.step, norm.is_pending);
    record_norm_rows(
        recording,
        {.input = activations.residual,
         .output = activations.hidden,
         .weight = norm.weight,
         .input_first = rows.first,
         .output_first = rows.first,
         .count = rows.count,
         .indices = std::nullopt,
         .epsilon = norm.epsilon,
         .nan_probe = kernels::NanProbe{.nan_probes = activations.nan_probes, .nan_probe = norm.nan_probe},
         .subtracts_mean = norm.subtracts_mean,
         .bias = norm.bias,
         .replaces_input = norm.replaces_residual},
        is_read || (norm.is_shared && activations.hidden.packed.bytes > 0), prefill_form);
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
            record_one(recording, linear_of(range, weights, input, activations.residual, kernels::Store::add),
                       range);
        }
    }
}

} // namespace etna::model

#include "core/model/blocks/altup.hpp"

#include "core/kernels/operations/altup.hpp"
#include "core/kernels/operations/rms_norm.hpp"

#include <numbers>
#include <string>

#include <fmt/format.h>

namespace etna::model {
namespace {

constexpr std::string_view expand_name = "altup_proj";
constexpr std::string_view merge_name = "altup_unembd_proj";
constexpr float magnitude_epsilon = 1e-5F;

std::string part_name(std::string_view tensor, uint32_t index) {
    return fmt::format("{}.{}.weight", tensor, index);
}

/// Stream `index` + 1.
kernels::Activations stream_of(const Recording& recording, uint32_t index) {
    const kernels::Activations& residual = recording.activations.residual;
    const auto rows = static_cast<uint32_t>(residual.range.bytes / 4 / residual.stride);
    return recording.activations.streams.part(index * rows, rows);
}

/// A norm of all rows.
kernels::RmsNorm norm_of(const Recording& recording, const kernels::Activations& input, vk::Range weight,
                         float epsilon, const kernels::Activations& output, kernels::Store store) {
    return {.input = input,
            .output = output,
            .weight = weight,
            .count = recording.step.rows,
            .indices = std::nullopt,
            .epsilon = epsilon,
            .store = store};
}

kernels::AltUp altup_of(const Recording& recording, const AltUpBlock& block, vk::Range coefficients) {
    const Activations& activations = recording.activations;
    return {.active = activations.residual,
            .streams = activations.streams,
            .prediction = activations.prediction,
            .count = recording.step.rows,
            .inputs = block.streams,
            .router = block.router,
            .norm = block.router_norm,
            .coefficients = coefficients,
            .epsilon = block.epsilon};
}

} // namespace

void declare_stream_ends(TensorTable& table, const Config& config) {
    for (const std::string_view name : {expand_name, merge_name}) {
        std::vector<TensorPart> parts;
        for (uint32_t i = 0; i + 1 < config.streams; ++i)
            parts.push_back({part_name(name, i), config.width});
        table.slices(fmt::format("{}.weight", name), std::move(parts), config.width);
    }
}

void declare_altup(TensorTable& table, const Config& config, uint32_t layer) {
    const auto name = [&](std::string_view part) { return tensor_name(layer, part); };
    const uint32_t streams = config.streams;
    table.vectors(name("altup_router.weight"), streams, config.width);
    table.scaled_vector(name("altup_router_norm.weight"), config.width, 1 / static_cast<float>(config.width));
    table.vectors(name("altup_predict_coef.weight"), streams * streams, streams);
    table.vectors(name("altup_correct_coef.weight"), streams, streams);
    table.vector(name("altup_correct_scale.weight"), config.width);
    table.matrix(name("laurel_l.weight"), config.laurel_rank, config.width);
    table.matrix(name("laurel_r.weight"), config.width, config.laurel_rank);
    table.vector(name("laurel_post_norm.weight"), config.width);
}

StreamEnds stream_ends(const Weights& weights, const Config& config) {
    StreamEnds ends;
    for (uint32_t i = 0; i + 1 < config.streams; ++i) {
        ends.expand.push_back({.weight = weights.matrix(part_name(expand_name, i)), .bias = {}});
        ends.merge.push_back({.weight = weights.matrix(part_name(merge_name, i)), .bias = {}});
    }
    return ends;
}

AltUpBlock altup_block(const Weights& weights, const Config& config, uint32_t layer) {
    const auto vector = [&](std::string_view name) { return weights.vector(tensor_name(layer, name)); };
    const auto linear = [&](std::string_view name) {
        return LinearWeights{.weight = weights.matrix(tensor_name(layer, name)), .bias = {}};
    };
    return {.router = vector("altup_router.weight"),
            .router_norm = vector("altup_router_norm.weight"),
            .prediction_coefficients = vector("altup_predict_coef.weight"),
            .correction_coefficients = vector("altup_correct_coef.weight"),
            .output_scale = vector("altup_correct_scale.weight"),
            .input_norm = vector("attn_norm.weight"),
            .left = linear("laurel_l.weight"),
            .right = linear("laurel_r.weight"),
            .laurel_norm = vector("laurel_post_norm.weight"),
            .per_layer = per_layer_block(weights, config, layer),
            .streams = config.streams,
            .epsilon = config.rms_epsilon};
}

void record_expand(const Recording& recording, const StreamEnds& ends) {
    const kernels::Activations& residual = recording.activations.residual;
    const auto count = static_cast<uint32_t>(ends.expand.size());
    for (uint32_t i = 0; i < count; ++i)
        record_linear(recording, ends.expand[i], residual, stream_of(recording, i), kernels::Store::replace);
    for (uint32_t i = 0; i < count; ++i) {
        kernels::match_rms(recording.launcher, {.input = stream_of(recording, i),
                                                .target = residual,
                                                .output = stream_of(recording, i),
                                                .count = recording.step.rows,
                                                .epsilon = magnitude_epsilon});
    }
}

void record_merge(const Recording& recording, const StreamEnds& ends) {
    const Activations& activations = recording.activations;
    const auto count = static_cast<uint32_t>(ends.merge.size());
    for (uint32_t i = 0; i < count; ++i) {
        const kernels::Activations stream = stream_of(recording, i);
        record_linear(recording, ends.merge[i], stream, activations.hidden, kernels::Store::replace);
        kernels::match_rms(recording.launcher, {.input = activations.hidden,
                                                .target = activations.prediction, // stream 0
                                                .output = activations.residual,
                                                .count = recording.step.rows,
                                                .epsilon = magnitude_epsilon,
                                                .store = kernels::Store::add});
    }
}

void record_predict(const Recording& recording, const AltUpBlock& block) {
    kernels::altup_predict(recording.launcher, altup_of(recording, block, block.prediction_coefficients));
}

void record_laurel(const Recording& recording, const AltUpBlock& block) {
    const Activations& activations = recording.activations;
    const kernels::Activations& hidden = activations.hidden;
    const kernels::RmsNorm input = norm_of(recording, activations.prediction, block.input_norm, block.epsilon,
                                           hidden, kernels::Store::replace);
    record_norm_rows(recording, input, reads_packed(block.left));
    kernels::rms_norm(recording.launcher, norm_of(recording, activations.prediction, block.input_norm,
                                                  block.epsilon, activations.residual, kernels::Store::add));
    const Arena::Scope scope(recording.arena);
    const kernels::Activations laurel = recording.matrix_input(block.left.weight.rows);
    record_linear(recording, block.left, hidden, laurel, kernels::Store::replace);
    record_linear(recording, block.right, laurel, hidden, kernels::Store::replace);
    kernels::RmsNorm output = norm_of(recording, hidden, block.laurel_norm, block.epsilon,
                                      activations.residual, kernels::Store::add);
    output.factor = 1 / std::numbers::sqrt2_v<float>;
    kernels::rms_norm(recording.launcher, output);
}

void record_correct(const Recording& recording, const AltUpBlock& block) {
    const Activations& activations = recording.activations;
    const kernels::Activations& hidden = activations.hidden;
    const OutputMatrix& down = block.per_layer.down;
    kernels::altup_correct(recording.launcher, altup_of(recording, block, block.correction_coefficients),
                           block.output_scale, hidden);
    const Arena::Scope scope(recording.arena);
    const kernels::Activations gate = record_layer_input(recording, block.per_layer, hidden);
    record_linear(recording, down.weights, gate, hidden, kernels::Store::replace);
    for (uint32_t i = 0; i + 1 < block.streams; ++i) {
        kernels::rms_norm(recording.launcher,
                          norm_of(recording, hidden, *down.post_norm.weight, down.post_norm.epsilon,
                                  stream_of(recording, i), kernels::Store::add));
    }
}

} // namespace etna::model

#include "core/model/blocks/experts.hpp"

#include "core/kernels/gate_multiply.hpp"
#include "core/kernels/rms_norm.hpp"
#include "core/model/nan_probe.hpp"

#include <string_view>

#include <fmt/format.h>

namespace etna::model {
namespace {

/// Choices, groups, gate and up projections, their product. Leaves the pairs' inner values in
/// Activations::gate.
void record_inner(const Recording& recording, const ExpertsBlock& block,
                  const kernels::ExpertRouting& choice) {
    const Activations& activations = recording.activations;
    kernels::Library& library = recording.library;
    vk::Recorder& recorder = recording.recorder;
    const kernels::ExpertGroups groups{activations.expert_groups};

    kernels::expert_route(library, recorder,
                          {.router = activations.router, .choice = choice, .normalised = block.normalised});
    if (block.shared)
        record_shared_product(recording, *block.shared);
    recorder.barrier();
    kernels::expert_group(library, recorder, choice, groups);
    recorder.barrier();
    kernels::ExpertLinear linear{.weights = block.gate,
                                 .input = activations.hidden,
                                 .output = activations.gate,
                                 .reads = kernels::ExpertInput::row,
                                 .choice = choice,
                                 .groups = groups};
    kernels::expert_linear(library, recorder, linear);
    linear.weights = block.up;
    linear.output = activations.up;
    kernels::expert_linear(library, recorder, linear);
    recorder.barrier();
    kernels::GateMultiply product{.gate = activations.gate,
                                  .up = activations.up,
                                  .first = 0,
                                  .count = choice.pairs(),
                                  .kind = block.gate_kind};
    if (block.gate_bias && block.up_bias) {
        product.biases = {.gate = *block.gate_bias,
                          .up = *block.up_bias,
                          .experts = choice.experts,
                          .expert_count = choice.count};
    }
    kernels::gate_multiply(library, recorder, product);
}

} // namespace

void declare_experts(TensorTable& table, const Config& config, uint32_t layer, ExpertTensors tensors) {
    const ExpertConfig& experts = config.experts;
    const auto name = [&](std::string_view part) { return fmt::format("blk.{}.{}", layer, part); };
    table.vector(name(config.feed_forward_norm) + ".weight", config.width);
    table.exact_matrix(name("ffn_gate_inp.weight"), experts.count, config.width);
    table.stack(name("ffn_gate_exps.weight"), experts.count, experts.feed_forward, config.width);
    table.stack(name("ffn_up_exps.weight"), experts.count, experts.feed_forward, config.width);
    table.stack(name("ffn_down_exps.weight"), experts.count, config.width, experts.feed_forward);
    if (experts.shared_feed_forward > 0)
        declare_shared_expert(table, config, layer);
    if (!tensors.biases)
        return;
    table.vector(name("ffn_gate_inp.bias"), experts.count);
    table.vectors(name("ffn_gate_exps.bias"), experts.count, experts.feed_forward);
    table.vectors(name("ffn_up_exps.bias"), experts.count, experts.feed_forward);
    table.vectors(name("ffn_down_exps.bias"), experts.count, config.width);
}

ExpertsBlock experts_block(const Weights& weights, const Config& config, uint32_t layer) {
    const auto name = [&](std::string_view part) { return fmt::format("blk.{}.{}", layer, part); };
    return {.norm = weights.vector(name(config.feed_forward_norm) + ".weight"),
            .router = {.weight = weights.matrix(name("ffn_gate_inp.weight")),
                       .bias = weights.find_vector(name("ffn_gate_inp.bias")),
                       .factors = kernels::OperandPrecision::f32}, // rounding could change the chosen expert
            .gate = weights.stack(name("ffn_gate_exps.weight")),
            .up = weights.stack(name("ffn_up_exps.weight")),
            .down = weights.stack(name("ffn_down_exps.weight")),
            .gate_bias = weights.find_vector(name("ffn_gate_exps.bias")),
            .up_bias = weights.find_vector(name("ffn_up_exps.bias")),
            .down_bias = weights.find_vector(name("ffn_down_exps.bias")),
            .shared = shared_expert(weights, config, layer),
            .gate_kind = config.gate,
            .experts_per_token = config.experts.experts_per_token,
            .normalised = config.experts.normalised,
            .epsilon = config.rms_epsilon,
            .nan_probe = feed_forward_nan_probe(layer)};
}

void record(const Recording& recording, const ExpertsBlock& block) {
    const Activations& activations = recording.activations;
    kernels::Library& library = recording.library;
    vk::Recorder& recorder = recording.recorder;
    const kernels::ExpertRouting choice{.experts = activations.expert_ids,
                                        .routing_weights = activations.routing_weights,
                                        .count = block.gate.count,
                                        .experts_per_token = block.experts_per_token,
                                        .rows = recording.step.rows};

    record_norm(recording, {block.norm, block.epsilon, block.nan_probe},
                block.shared && reads_halves(*block.shared));
    if (block.shared)
        record_shared_projections(recording, *block.shared);
    record_linear(recording, block.router, activations.hidden, activations.router, kernels::Store::replace);
    recorder.barrier();
    record_inner(recording, block, choice);
    recorder.barrier();
    if (block.shared)
        record_shared_output(recording, *block.shared);
    kernels::expert_linear(library, recorder,
                           {.weights = block.down,
                            .input = activations.gate,
                            .output = activations.expert_outputs,
                            .reads = kernels::ExpertInput::pair,
                            .choice = choice,
                            .groups = {activations.expert_groups}});
    recorder.barrier();
    kernels::expert_sum(library, recorder,
                        {.input = activations.expert_outputs,
                         .output = activations.residual,
                         .choice = choice,
                         .bias = block.down_bias});
}

} // namespace etna::model

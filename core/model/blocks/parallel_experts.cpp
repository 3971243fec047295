#include "core/model/blocks/parallel_experts.hpp"

#include "core/kernels/operations/rms_norm.hpp"

#include <cmath>
#include <string_view>

namespace etna::model {
namespace {

constexpr std::string_view experts_input_norm = "pre_ffw_norm_2";
constexpr std::string_view dense_output_norm = "post_ffw_norm_1.weight";
constexpr std::string_view experts_output_norm = "post_ffw_norm_2.weight";
constexpr std::string_view router_norm = "ffn_gate_inp.scale";

Config with_experts_norm(Config config) {
    config.feed_forward_norm = experts_input_norm;
    return config;
}

/// A norm of all rows.
kernels::RmsNorm branch_norm(const Recording& recording, const kernels::Activations& input, vk::Range weight,
                             float epsilon, const kernels::Activations& output, kernels::Store store) {
    return {.input = input,
            .output = output,
            .weight = weight,
            .count = recording.step.rows,
            .indices = std::nullopt,
            .epsilon = epsilon,
            .store = store};
}

} // namespace

void declare_parallel_experts(TensorTable& table, const Config& config, uint32_t layer) {
    const auto name = [&](std::string_view part) { return tensor_name(layer, part); };
    declare_feed_forward(table, config, layer, {.post_norm = true});
    declare_experts(table, with_experts_norm(config), layer);
    table.scaled_vector(name(router_norm), config.width, 1 / std::sqrt(static_cast<float>(config.width)));
    table.vector(name("ffn_down_exps.scale"), config.experts.count, Presence::optional);
    table.vector(name(dense_output_norm), config.width);
    table.vector(name(experts_output_norm), config.width);
}

ParallelExpertsBlock parallel_experts_block(const Weights& weights, const Config& config, uint32_t layer) {
    const auto vector = [&](std::string_view part) { return weights.vector(tensor_name(layer, part)); };
    FeedForwardBlock dense = feed_forward_block(weights, config, layer);
    const PostNorm post_norm = dense.down.post_norm;
    dense.down.post_norm = {.weight = vector(dense_output_norm), .epsilon = config.rms_epsilon};
    return {.dense = dense,
            .router_norm = vector(router_norm),
            .experts = experts_block(weights, with_experts_norm(config), layer),
            .experts_norm = vector(experts_output_norm),
            .post_norm = post_norm};
}

void record(const Recording& recording, const ParallelExpertsBlock& block) {
    const Activations& activations = recording.activations;
    const kernels::Activations& hidden = activations.hidden;
    const Arena::Scope scope(recording.arena);
    const kernels::Activations branches = recording.rows(hidden.columns); // first the input of the router
    const GatedRows dense = take_gated_rows(recording, block.dense);
    ExpertRows experts = take_expert_rows(recording, block.experts);
    const float epsilon = block.experts.epsilon;
    const auto record_one = [&](const kernels::RmsNorm& norm) {
        kernels::rms_norm(recording.launcher, norm);
    };
    using enum kernels::Store;

    record_one(branch_norm(recording, activations.residual, block.router_norm, epsilon, branches, replace));
    record_norm(recording, block.dense.norm, reads_packed(block.dense));
    record_gate_and_up(recording, block.dense, dense);
    record_routing(recording, block.experts, experts, branches);
    record_product(recording, block.dense, dense);
    const kernels::RmsNorm input =
        branch_norm(recording, activations.residual, block.experts.norm, epsilon, hidden, replace);
    record_norm_rows(recording, input, reads_packed(block.experts), prefill_form(recording, block.experts));
    record_groups(recording, block.experts, experts);
    record_linear(recording, block.dense.down.weights, dense.gate, branches, replace);
    record_inner(recording, block.experts, experts);
    record_one(
        branch_norm(recording, branches, *block.dense.down.post_norm.weight, epsilon, branches, replace));
    record_sum(recording, block.experts, experts, hidden, replace);
    record_one(branch_norm(recording, hidden, block.experts_norm, epsilon, branches, add));
    kernels::RmsNorm output = branch_norm(recording, branches, *block.post_norm.weight,
                                          block.post_norm.epsilon, activations.residual, add);
    output.scale = block.post_norm.scale;
    record_one(output);
}

} // namespace etna::model

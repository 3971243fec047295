#include "core/model/blocks/shared_expert.hpp"

#include <string_view>

#include <fmt/format.h>

namespace etna::model {

void declare_shared_expert(TensorTable& table, const Config& config, uint32_t layer) {
    const ExpertConfig& experts = config.experts;
    const auto name = [&](std::string_view part) { return tensor_name(layer, part); };
    if (experts.shared_row_gate)
        table.matrix(name("ffn_gate_inp_shexp.weight"), 1, config.width);
    if (experts.gated)
        table.matrix(name("ffn_gate_shexp.weight"), experts.shared_feed_forward, config.width);
    table.matrix(name("ffn_up_shexp.weight"), experts.shared_feed_forward, config.width);
    table.matrix(name("ffn_down_shexp.weight"), config.width, experts.shared_feed_forward);
}

std::optional<SharedExpert> shared_expert(const Weights& weights, const Config& config, uint32_t layer) {
    if (config.experts.shared_feed_forward == 0)
        return std::nullopt;
    const auto linear = [&](std::string_view part) {
        const std::string name = tensor_name(layer, fmt::format("ffn_{}_shexp.weight", part));
        return LinearWeights{.weight = weights.matrix(name), .bias = {}};
    };
    return SharedExpert{.row_gate =
                            config.experts.shared_row_gate ? std::optional(linear("gate_inp")) : std::nullopt,
                        .gate = config.experts.gated ? std::optional(linear("gate")) : std::nullopt,
                        .up = linear("up"),
                        .down = linear("down"),
                        .gate_kind = config.gate};
}

bool reads_packed(const SharedExpert& expert) {
    return (expert.gate && reads_packed(*expert.gate)) || reads_packed(expert.up) ||
           (expert.row_gate && reads_packed(*expert.row_gate));
}

SharedRows record_shared_projections(const Recording& recording, const SharedExpert& expert) {
    const auto project = [&](const LinearWeights& weights, const kernels::Activations& output) {
        record_linear(recording, weights, recording.activations.hidden, output, kernels::Store::replace);
        return output;
    };
    SharedRows rows;
    rows.gate = rows.up = recording.matrix_input(expert.up.weight.rows);
    if (expert.gate) {
        rows.up = recording.rows(expert.up.weight.rows);
        project(*expert.gate, rows.gate);
    }
    project(expert.up, rows.up);
    if (expert.row_gate)
        rows.row_gate = project(*expert.row_gate, recording.rows(1));
    return rows;
}

void record_shared_product(const Recording& recording, const SharedExpert& expert, const SharedRows& rows) {
    kernels::gate_multiply(recording.launcher,
                           {.gate = rows.gate,
                            .up = rows.up,
                            .first = 0,
                            .count = recording.step.rows,
                            .kind = expert.gate_kind,
                            .row_gate = rows.row_gate,
                            .packed = has_decode_rows(recording.step) && reads_packed(expert.down)});
}

void record_shared_output(const Recording& recording, const SharedExpert& expert, const SharedRows& rows) {
    record_linear(recording, expert.down, rows.gate, recording.activations.residual, kernels::Store::add);
}

} // namespace etna::model

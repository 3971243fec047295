#include "core/kernels/operations/delta_net.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/activation.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/noise.hpp"

#include <algorithm>
#include <cmath>

namespace etna::kernels {
namespace {

/// Numbers of magnitude 1 or so after some hundred operations.
Bounded around(double value) {
    return {value, 256 * rounding * (1 + std::abs(value))};
}

constexpr DeltaShape checked_shape{
    .key_heads = 2, .value_heads = 4, .key_dim = 27, .value_dim = 19, .order = KeyHeadOrder::grouped};
constexpr uint32_t prompt_rows = 3;
constexpr uint32_t draft_rows = 2; ///< of which the first is accepted
constexpr uint32_t kept_rows = prompt_rows + 1;
constexpr uint32_t row_count = prompt_rows + draft_rows;

struct DeltaInputs {
    std::vector<float> qkv; ///< [row_count] rows, as are a and b
    std::vector<float> a;
    std::vector<float> b;
    std::vector<float> decay;
    std::vector<float> dt_bias;
};

DeltaInputs delta_inputs() {
    Noise noise(11);
    DeltaInputs inputs{.qkv = noise.numbers(uint64_t{row_count} * checked_shape.qkv_columns()),
                       .a = noise.numbers(uint64_t{row_count} * checked_shape.value_heads),
                       .b = noise.numbers(uint64_t{row_count} * checked_shape.value_heads),
                       .decay = noise.numbers(checked_shape.value_heads),
                       .dt_bias = noise.numbers(checked_shape.value_heads)};
    for (float& one : inputs.decay)
        one = -0.5F - std::abs(one);
    return inputs;
}

/// The formula of DeltaNet, one row after another, for one value of a head.
struct DeltaValue {
    uint32_t head = 0;
    uint32_t value = 0;
    std::vector<double> state = std::vector<double>(checked_shape.key_dim, 0.0); ///< a row of S

    double step(const DeltaInputs& inputs, uint32_t row) {
        const float* q =
            inputs.qkv.data() + std::size_t{row} * checked_shape.qkv_columns() +
            std::size_t{head / (checked_shape.value_heads / checked_shape.key_heads)} * checked_shape.key_dim;
        const float* k = q + std::size_t{checked_shape.key_heads} * checked_shape.key_dim;
        const float v = inputs.qkv[std::size_t{row} * checked_shape.qkv_columns() +
                                   std::size_t{2} * checked_shape.key_heads * checked_shape.key_dim +
                                   std::size_t{head} * checked_shape.value_dim + value];
        const std::size_t gate = std::size_t{row} * checked_shape.value_heads + head;
        const double alpha = std::exp(inputs.decay[head] *
                                      std::log1p(std::exp(double{inputs.a[gate]} + inputs.dt_bias[head])));
        double kk = 1e-6;
        double qq = 1e-6;
        double stored = 0;
        for (uint32_t i = 0; i < checked_shape.key_dim; ++i) {
            kk += double{k[i]} * k[i];
            qq += double{q[i]} * q[i];
            stored += alpha * state[i] * k[i];
        }
        const double d = sigmoid(inputs.b[gate]) * (v - stored / std::sqrt(kk));
        double o = 0;
        for (uint32_t i = 0; i < checked_shape.key_dim; ++i) {
            state[i] = alpha * state[i] + d * k[i] / std::sqrt(kk);
            o += state[i] * q[i] / std::sqrt(qq * checked_shape.key_dim);
        }
        return o;
    }
};

/// Outputs of all rows [row_count, output columns], and the state after the kept ones.
void expect_delta(KernelRun& run, const DeltaInputs& inputs, const Activations& output, vk::Range state) {
    std::vector<Bounded> outputs(std::size_t{row_count} * checked_shape.output_columns());
    std::vector<Bounded> states;
    for (uint32_t column = 0; column < checked_shape.output_columns(); ++column) {
        DeltaValue one{.head = column / checked_shape.value_dim, .value = column % checked_shape.value_dim};
        for (uint32_t row = 0; row < row_count; ++row) {
            if (row == kept_rows)
                std::transform(one.state.begin(), one.state.end(), std::back_inserter(states), around);
            outputs[std::size_t{row} * checked_shape.output_columns() + column] =
                around(one.step(inputs, row));
        }
    }
    run.expect_rows(output, 0, outputs);
    run.expect_numbers(state, std::move(states));
}

void make_delta_net_problem(KernelRun& run, const KernelUse&) {
    const DeltaInputs inputs = delta_inputs();
    const std::vector<float> unset(delta_state_bytes(checked_shape) / 4, KernelRun::unset);
    const std::vector<float> unset_pending(delta_pending_bytes(checked_shape) / 4, KernelRun::unset);
    DeltaNet operation{.shape = checked_shape,
                       .qkv = run.put_rows(inputs.qkv, row_count, checked_shape.qkv_columns()),
                       .a = {.rows = run.put_rows(inputs.a, row_count, checked_shape.value_heads)},
                       .b = {.rows = run.put_rows(inputs.b, row_count, checked_shape.value_heads)},
                       .decay = run.put(inputs.decay),
                       .dt_bias = run.put(inputs.dt_bias),
                       .states = {.states = run.put(unset), .pending = run.put(unset_pending), .slots = 1},
                       .output = run.put_unset(row_count, checked_shape.output_columns())};
    const std::vector<SequenceInfo> steps{{.slot = 0,
                                           .first_row = 0,
                                           .row_count = prompt_rows,
                                           .position = 0,
                                           .accepted = 0,
                                           .flags = commit_rows},
                                          {.slot = 0,
                                           .first_row = prompt_rows,
                                           .row_count = draft_rows,
                                           .position = prompt_rows,
                                           .accepted = 0,
                                           .flags = 0},
                                          {.slot = 0,
                                           .first_row = 0,
                                           .row_count = 0,
                                           .position = kept_rows,
                                           .accepted = 1,
                                           .flags = pending_parity}};
    for (const SequenceInfo& step : steps) {
        operation.sequences = {.infos = run.put(std::vector{step}), .count = 1, .rows = row_count};
        delta_net({run.library(), run.recorder()}, operation);
    }
    expect_delta(run, inputs, operation.output, operation.states.states);
}

} // namespace

const Operation delta_net_operation{
    .name = "delta_net",
    .uses = [](const PlanTarget&) { return one_use(delta_net_operation, shaders::delta_net()); },
    .make_problem = make_delta_net_problem,
};

} // namespace etna::kernels

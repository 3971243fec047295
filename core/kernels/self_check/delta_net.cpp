#include "core/kernels/operations/delta_net.hpp"

#include "core/kernels/operations/gated_rms_norm.hpp"
#include "core/kernels/operations/short_convolution.hpp"
#include "core/kernels/self_check/noise.hpp"
#include "core/kernels/self_check/problems.hpp"

#include <algorithm>
#include <cmath>

namespace etna::kernels {
namespace {

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

/// exp is accurate to 3 + 2 |x| units (Vulkan, "Precision of GLSL instructions").
double silu_tolerance(double x) {
    return (16 + 4 * std::abs(x)) * rounding;
}

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
void expect_delta(Trial& trial, const DeltaInputs& inputs, const Activations& output, vk::Range state) {
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
    trial.expect_rows(output, 0, outputs);
    trial.expect_numbers(state, std::move(states));
}

} // namespace

void pose_delta_net(Trial& trial, const KernelUse&) {
    const DeltaInputs inputs = delta_inputs();
    const std::vector<float> unset(delta_state_bytes(checked_shape) / 4, Trial::unset);
    const std::vector<float> unset_pending(delta_pending_bytes(checked_shape) / 4, Trial::unset);
    DeltaNet operation{
        .shape = checked_shape,
        .qkv = trial.put_rows(inputs.qkv, row_count, checked_shape.qkv_columns()),
        .a = {.rows = trial.put_rows(inputs.a, row_count, checked_shape.value_heads)},
        .b = {.rows = trial.put_rows(inputs.b, row_count, checked_shape.value_heads)},
        .decay = trial.put(inputs.decay),
        .dt_bias = trial.put(inputs.dt_bias),
        .states = {.states = trial.put(unset), .pending = trial.put(unset_pending), .slots = 1},
        .output = trial.put_unset(row_count, checked_shape.output_columns())};
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
        operation.sequences = {.infos = trial.put(std::vector{step}), .count = 1, .rows = row_count};
        delta_net({trial.library(), trial.recorder()}, operation);
    }
    expect_delta(trial, inputs, operation.output, operation.states.states);
}

namespace {

/// Seven rows in two steps.
void pose_convolution(Trial& trial, ConvolutionKind kind) {
    constexpr uint32_t channels = 71;
    constexpr uint32_t rows = 7;
    constexpr uint32_t filter_width = 4;
    const bool is_gated = kind == ConvolutionKind::gated;
    const uint32_t columns = is_gated ? 3 * channels : channels;
    const uint32_t length = convolution_ring_length(filter_width);
    Noise noise(12);
    const std::vector<float> x = noise.numbers(uint64_t{rows} * columns);
    const std::vector<float> weight = noise.numbers(uint64_t{channels} * filter_width);
    const std::vector<float> bias = noise.numbers(channels);
    ShortConvolution operation{
        .input = trial.put_rows(x, rows, columns),
        .output = trial.put_unset(rows, channels),
        .weight = trial.put(weight),
        .bias = trial.put(bias),
        .ring = {.range = trial.put(std::vector<float>(std::size_t{length} * channels, Trial::unset)),
                 .slots = 1,
                 .length = length},
        .width = filter_width,
        .kind = kind};
    for (const auto& [from, to] : {std::pair{0U, 2U}, {2U, rows}}) {
        const SequenceInfo step{.slot = 0,
                                .first_row = from,
                                .row_count = to - from,
                                .position = from,
                                .accepted = 0,
                                .flags = commit_rows};
        operation.sequences = {.infos = trial.put(std::vector{step}), .count = 1, .rows = rows};
        short_convolution({trial.library(), trial.recorder()}, operation);
    }
    const auto part = [&](uint32_t row, uint32_t which, uint32_t c) -> double {
        return x[std::size_t{row} * columns + std::size_t{which} * channels + c];
    };
    std::vector<Bounded> expected;
    for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t c = 0; c < channels; ++c) {
            double sum = bias[c];
            for (uint32_t d = row >= filter_width - 1 ? 0 : filter_width - 1 - row; d < filter_width; ++d) {
                const uint32_t at = row + d - (filter_width - 1);
                sum += weight[std::size_t{c} * filter_width + d] * part(at, 0, c) *
                       (is_gated ? part(at, 2, c) : 1);
            }
            expected.push_back({sum * (is_gated ? part(row, 1, c) : sigmoid(sum)), 8 * silu_tolerance(sum)});
        }
    }
    trial.expect_rows(operation.output, 0, expected);
}

} // namespace

void pose_short_convolution(Trial& trial, const KernelUse&) {
    for (const ConvolutionKind kind : {ConvolutionKind::silu, ConvolutionKind::gated})
        pose_convolution(trial, kind);
}

namespace {

void pose_norm(Trial& trial, GatedNorm order) {
    constexpr uint32_t norm_dim = 75;
    constexpr uint32_t heads = 2;
    constexpr uint32_t rows = 2;
    constexpr float epsilon = 1e-5F;
    Noise noise(13);
    const std::vector<float> x = noise.numbers(uint64_t{rows} * heads * norm_dim);
    std::vector<float> z = noise.numbers(uint64_t{rows} * heads * norm_dim);
    for (float& one : z)
        one *= 6;
    const bool gate_first = order == GatedNorm::gate_first;
    const std::vector<float> weight = noise.numbers(gate_first ? heads * norm_dim : norm_dim);
    const Activations values = trial.put_rows(x, rows, heads * norm_dim);
    gated_rms_norm({trial.library(), trial.recorder()}, {.values = values,
                                                         .gate = trial.put_rows(z, rows, heads * norm_dim),
                                                         .weight = trial.put(weight),
                                                         .head_dim = norm_dim,
                                                         .count = rows,
                                                         .epsilon = epsilon,
                                                         .order = order});
    std::vector<Bounded> expected;
    for (std::size_t from = 0; from < x.size(); from += norm_dim) {
        const auto gate = [&](std::size_t i) { return z[i] * sigmoid(z[i]); };
        const auto normed = [&](std::size_t i) { return gate_first ? x[i] * gate(i) : x[i]; };
        double squares = 0;
        for (std::size_t i = from; i < from + norm_dim; ++i)
            squares += normed(i) * normed(i);
        const double length = std::sqrt(squares / norm_dim + double{epsilon});
        const std::size_t own_weight = gate_first ? from % weight.size() : 0;
        for (std::size_t i = from; i < from + norm_dim; ++i) {
            const double y = x[i] / length * weight[own_weight + i - from] * gate(i);
            expected.push_back({y, (norm_dim * rounding + 4 * silu_tolerance(z[i])) * std::abs(y)});
        }
    }
    trial.expect_rows(values, 0, expected);
}

} // namespace

void pose_gated_rms_norm(Trial& trial, const KernelUse&) {
    for (const GatedNorm order : {GatedNorm::norm_first, GatedNorm::gate_first})
        pose_norm(trial, order);
}

} // namespace etna::kernels

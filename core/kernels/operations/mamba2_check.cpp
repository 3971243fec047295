#include "core/kernels/operations/mamba2.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/noise.hpp"

#include <algorithm>
#include <cmath>

namespace etna::kernels {
namespace {

constexpr Mamba2Shape mamba_shape{.heads = 4, .groups = 2, .head_dim = 19, .state_dim = 27};
constexpr uint32_t mamba_prompt_rows = 3;
constexpr uint32_t mamba_draft_rows = 2; ///< of which the first is accepted
constexpr uint32_t mamba_kept_rows = mamba_prompt_rows + 1;
constexpr uint32_t mamba_rows = mamba_prompt_rows + mamba_draft_rows;

struct MambaInputs {
    std::vector<float> xbc; ///< [mamba_rows] rows, as is dt
    std::vector<float> dt;
    std::vector<float> decay;
    std::vector<float> dt_bias;
    std::vector<float> skip;
};

MambaInputs mamba_inputs() {
    Noise noise(21);
    MambaInputs inputs{.xbc = noise.numbers(uint64_t{mamba_rows} * mamba_shape.xbc_columns()),
                       .dt = noise.numbers(uint64_t{mamba_rows} * mamba_shape.heads),
                       .decay = noise.numbers(mamba_shape.heads),
                       .dt_bias = noise.numbers(mamba_shape.heads),
                       .skip = noise.numbers(mamba_shape.heads)};
    for (float& one : inputs.decay)
        one = -0.5F - std::abs(one);
    return inputs;
}

/// Numbers of magnitude 1 or so after some hundred operations.
Bounded nearly(double value) {
    return {value, 256 * rounding * (1 + std::abs(value))};
}

/// The formula of Mamba2, one row after another, for one value of a head.
struct MambaValue {
    uint32_t head = 0;
    uint32_t value = 0;
    std::vector<double> state = std::vector<double>(mamba_shape.state_dim, 0.0); ///< a row of S

    double step(const MambaInputs& inputs, uint32_t row) {
        const float* xbc = inputs.xbc.data() + std::size_t{row} * mamba_shape.xbc_columns();
        const double x = xbc[std::size_t{head} * mamba_shape.head_dim + value];
        const uint32_t group = head / (mamba_shape.heads / mamba_shape.groups);
        const float* b = xbc + mamba_shape.output_columns() + std::size_t{group} * mamba_shape.state_dim;
        const float* c = b + std::size_t{mamba_shape.groups} * mamba_shape.state_dim;
        const double raw =
            double{inputs.dt[std::size_t{row} * mamba_shape.heads + head]} + inputs.dt_bias[head];
        const double dt = std::log1p(std::exp(raw));
        const double alpha = std::exp(inputs.decay[head] * dt);
        double y = inputs.skip[head] * x;
        for (uint32_t i = 0; i < mamba_shape.state_dim; ++i) {
            state[i] = alpha * state[i] + dt * x * b[i];
            y += state[i] * c[i];
        }
        return y;
    }
};

/// Outputs of all rows, and the state after the kept ones.
void expect_mamba(KernelRun& run, const MambaInputs& inputs, const Activations& output, vk::Range state) {
    const uint32_t columns = mamba_shape.output_columns();
    std::vector<Bounded> outputs(std::size_t{mamba_rows} * columns);
    std::vector<Bounded> states;
    for (uint32_t column = 0; column < columns; ++column) {
        MambaValue one{.head = column / mamba_shape.head_dim, .value = column % mamba_shape.head_dim};
        for (uint32_t row = 0; row < mamba_rows; ++row) {
            if (row == mamba_kept_rows)
                std::transform(one.state.begin(), one.state.end(), std::back_inserter(states), nearly);
            outputs[std::size_t{row} * columns + column] = nearly(one.step(inputs, row));
        }
    }
    run.expect_rows(output, 0, outputs);
    run.expect_numbers(state, std::move(states));
}

void make_mamba2_problem(KernelRun& run, const KernelUse&) {
    const MambaInputs inputs = mamba_inputs();
    const std::vector<float> unset(mamba2_state_bytes(mamba_shape) / 4, KernelRun::unset);
    const std::vector<float> unset_pending(mamba2_pending_bytes(mamba_shape) / 4, KernelRun::unset);
    Mamba2 operation{.shape = mamba_shape,
                     .xbc = run.put_rows(inputs.xbc, mamba_rows, mamba_shape.xbc_columns()),
                     .dt = run.put_rows(inputs.dt, mamba_rows, mamba_shape.heads),
                     .decay = run.put(inputs.decay),
                     .dt_bias = run.put(inputs.dt_bias),
                     .skip = run.put(inputs.skip),
                     .states = {.states = run.put(unset), .pending = run.put(unset_pending), .slots = 1},
                     .output = run.put_unset(mamba_rows, mamba_shape.output_columns())};
    // A prompt, drafts, and a step that commits the accepted draft.
    const std::vector<SequenceInfo> steps{{.slot = 0,
                                           .first_row = 0,
                                           .row_count = mamba_prompt_rows,
                                           .position = 0,
                                           .accepted = 0,
                                           .flags = commit_rows},
                                          {.slot = 0,
                                           .first_row = mamba_prompt_rows,
                                           .row_count = mamba_draft_rows,
                                           .position = mamba_prompt_rows,
                                           .accepted = 0,
                                           .flags = 0},
                                          {.slot = 0,
                                           .first_row = 0,
                                           .row_count = 0,
                                           .position = mamba_kept_rows,
                                           .accepted = 1,
                                           .flags = pending_parity}};
    for (const SequenceInfo& step : steps) {
        operation.sequences = {.infos = run.put(std::vector{step}), .count = 1, .rows = mamba_rows};
        mamba2({run.library(), run.recorder()}, operation);
    }
    expect_mamba(run, inputs, operation.output, operation.states.states);
}

} // namespace

const Operation mamba2_operation{
    .name = "mamba2",
    .uses = [](const PlanTarget&) { return one_use(mamba2_operation, shaders::mamba2()); },
    .make_problem = make_mamba2_problem,
};

} // namespace etna::kernels

#include "core/kernels/operations/expert_matrix.hpp"

#include "core/kernels/matrix_plans.hpp"
#include "core/kernels/operations/pack.hpp"
#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/experts/arguments.h"

#include <algorithm>

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::ExpertMatrixArguments) == 88);
constexpr std::string_view name = "expert_matrix";

bool stack_fits(const Launcher& launcher, const MatrixStack& stack, const ExpertMatrix& operation) {
    const Matrix& one = stack.matrices;
    return require(launcher,
                   one.layout == operation.weights.matrices.layout && one.rows == operation.output.columns &&
                       one.columns == operation.input.columns,
                   name, "weights differ in layout or shape, or in width from input or output") &&
           require(launcher,
                   stack.count == operation.choice.count &&
                       one.weights.bytes >=
                           uint64_t{stack.count} * packed_bytes(one.layout, one.rows, one.columns).weights,
                   name, "weights are shorter than their shape");
}

uint32_t input_rows(const ExpertMatrix& operation) {
    return operation.reads == ExpertInput::row ? operation.choice.rows : operation.choice.pairs();
}

bool fits(const Launcher& launcher, const ExpertMatrix& operation) {
    const ExpertRouting& choice = operation.choice;
    const uint64_t bias_bytes = uint64_t{choice.count} * operation.weights.matrices.rows * sizeof(float);
    return require(launcher, experts_on_units(launcher.target(), operation.weights.matrices.layout), name,
                   "the device has no matrix units for this layout") &&
           stack_fits(launcher, operation.weights, operation) &&
           (!operation.up || stack_fits(launcher, *operation.up, operation)) &&
           require(launcher,
                   operation.output.range.bytes >= uint64_t{choice.pairs()} * operation.output.stride * 4,
                   name, "output is short") &&
           require(launcher,
                   !operation.biases || (operation.up && operation.biases->gate.bytes >= bias_bytes &&
                                         operation.biases->up.bytes >= bias_bytes),
                   name, "biases are shorter than their shape, or without a gated pair") &&
           require(launcher,
                   operation.groups.range.bytes >= expert_group_bytes(choice.rows, choice.experts_per_token),
                   name, "groups are short") &&
           make_packed(launcher, name,
                       {.rows = operation.input, .form = PackedForm::f16, .count = input_rows(operation)});
}

} // namespace

bool experts_on_units(const PlanTarget& target, Layout layout) {
    return layout.arrangement == Arrangement::tiles && prompts_read_packed(target) &&
           expert_matrix_plan(target, layout.format, 1).has_value() &&
           runs(target, shaders::expert_matrix(static_cast<shaders::Format>(layout.format)));
}

uint32_t unit_tile_pairs(const PlanTarget& target, uint32_t pairs, uint32_t experts) {
    const auto plan = expert_matrix_plan(target, Format::f16, pairs / std::max(experts, 1U));
    return plan ? plan->columns_each : 1;
}

void expert_matrix(const Launcher& launcher, const ExpertMatrix& operation) {
    const ExpertRouting& choice = operation.choice;
    if (choice.rows == 0 || !fits(launcher, operation))
        return;
    const Matrix& one = operation.weights.matrices;
    const bool is_gated = operation.up.has_value();
    const uint32_t pairs = choice.pairs();
    const vk::Range input = operation.input.form_rows(PackedForm::f16, 0, input_rows(operation));
    const vk::Range output = operation.output.rows(0, pairs);
    const vk::Range up = is_gated ? operation.up->matrices.weights : vk::Range{};
    const GateBiases biases = operation.biases.value_or(GateBiases{});
    const shaders::ExpertMatrixArguments arguments{
        .weights = one.weights.address,
        .up = is_gated ? up.address : one.weights.address, // never null: see sample.cpp
        .x = input.address,
        .y = output.address,
        .gate_bias = operation.biases ? biases.gate.address : output.address,
        .up_bias = operation.biases ? biases.up.address : output.address,
        .groups = operation.groups.range.address,
        .rows = one.rows,
        .tiles = one.columns / tile_columns,
        .expert_count = choice.count,
        .pairs = pairs,
        .pairs_each = operation.reads == ExpertInput::row ? choice.experts_per_token : 1,
        .group_tiles = pairs,
        .y_stride = operation.output.stride,
        .unused = 0,
    };
    const LinearPlan plan =
        *expert_matrix_plan(launcher.target(), one.layout.format, operation.groups.tile_pairs); // fits()
    // Upper bound of tiles in use: the full ones, and one partial tile per expert.
    const uint32_t group_tiles = std::min(pairs, pairs / plan.columns_each + choice.count);
    const uint32_t rows_each = is_gated ? plan.rows_each / 2 : plan.rows_each;
    launch(launcher,
           {.variant = shaders::expert_matrix(static_cast<shaders::Format>(one.layout.format)),
            .specialization = {plan.workgroup, matrix_subgroups, plan.parts, plan.rows_each,
                               plan.columns_each, plan.shape.rows, plan.shape.columns, plan.shape.depth,
                               plan.ahead, is_gated ? 1U : 0U, static_cast<uint32_t>(operation.kind),
                               operation.biases ? 1U : 0U},
            .groups = {group_tiles, divide_up(one.rows, rows_each), 1},
            .reads = {one.weights, up, input, biases.gate, biases.up, operation.groups.range},
            .writes = {output},
            .subgroup = plan.subgroup},
           arguments);
}

} // namespace etna::kernels

#include "core/kernels/operations/gated_rms_norm.hpp"

#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/delta/arguments.h"

namespace etna::kernels {

static_assert(sizeof(shaders::GatedRmsNormArguments) == 40);

void gated_rms_norm(const Launcher& launcher, const GatedRmsNorm& operation) {
    const Activations& values = operation.values;
    const bool gate_first = operation.order == GatedNorm::gate_first;
    const uint32_t heads = operation.head_dim == 0 ? 0 : values.columns / operation.head_dim;
    const auto check = [&](bool holds, std::string_view problem) {
        return require(launcher, holds, "gated_rms_norm", problem);
    };
    const auto has_rows = [&](const Activations& all) {
        return all.range.bytes >= (uint64_t{operation.first} + operation.count) * all.stride * 4;
    };
    if (operation.count == 0 ||
        !check(values.columns == operation.gate.columns, "values and gate differ in width") ||
        !check(has_rows(values) && has_rows(operation.gate), "values or gate has too few rows") ||
        !check(heads > 0 && heads * operation.head_dim == values.columns,
               "width is not a multiple of the head size") ||
        !check(operation.weight.bytes >= uint64_t{gate_first ? values.columns : operation.head_dim} * 4,
               "weight is short"))
        return;
    const vk::Range x = values.rows(operation.first, operation.count);
    const vk::Range z = operation.gate.rows(operation.first, operation.count);
    const shaders::GatedRmsNormArguments arguments{
        .x = x.address,
        .z = z.address,
        .weight = operation.weight.address,
        .head_dim = operation.head_dim,
        .x_stride = values.stride,
        .z_stride = operation.gate.stride,
        .epsilon = operation.epsilon,
    };
    const ReducePlan plan =
        reduce_plan(launcher.target(), shaders::gated_rms_norm(shaders::Reduce::subgroup));
    launch(launcher,
           {.variant = shaders::gated_rms_norm(plan.reduce),
            .specialization = {plan.workgroup, plan.one_subgroup, gate_first ? 1U : 0U},
            .groups = {heads, operation.count, 1},
            .reads = {z, operation.weight},
            .writes = {x}},
           arguments);
}

} // namespace etna::kernels

#include "core/kernels/operations/rms_norm.hpp"

#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/norm/arguments.h"

namespace etna::kernels {

static_assert(sizeof(shaders::RmsNormArguments) == 128);

namespace {

/// The PACKED constant of rms_norm.comp.
uint32_t packed_constant(const PlanTarget& target, std::optional<PackedForm> form) {
    constexpr uint32_t f16_rows = 3;
    if (!form)
        return 0;
    return *form == PackedForm::blocks ? written_blocks(target) : f16_rows;
}

} // namespace

void rms_norm(const Launcher& launcher, const RmsNorm& operation) {
    const Activations& input = operation.input;
    const bool indexed = operation.indices.has_value();
    const bool probed = operation.nan_probe.has_value();
    const uint32_t groups = operation.groups;
    if (operation.count == 0 ||
        !require(launcher, input.columns == operation.output.columns, "rms_norm",
                 "input and output differ in width") ||
        !require(launcher, groups == 1 || (groups > 0 && input.columns % (4 * groups) == 0 && !probed),
                 "rms_norm", "groups do not divide a row, or have a NaN probe") ||
        !require(launcher, operation.weight.bytes >= uint64_t{input.columns / groups} * 4, "rms_norm",
                 "weight is short") ||
        !require(launcher, !operation.bias || operation.bias->bytes >= uint64_t{input.columns / groups} * 4,
                 "rms_norm", "bias is short") ||
        !require(launcher, !operation.replaces_input || (!indexed && groups == 1), "rms_norm",
                 "the input is replaced, but read by indices or in groups") ||
        !require(launcher, !operation.scale || operation.scale->bytes >= 4, "rms_norm", "scale is short") ||
        !require(launcher, !indexed || operation.indices->bytes >= uint64_t{operation.count} * 4, "rms_norm",
                 "indices are short") ||
        !require(launcher,
                 !probed || operation.nan_probe->nan_probes.bytes >= input.range.bytes / input.stride,
                 "rms_norm", "room for NaN probes is short"))
        return;
    const auto& packs = operation.packs;
    if (packs &&
        !require(launcher,
                 groups == 1 &&
                     operation.output.has_form(*packs, uint64_t{operation.output_first} + operation.count),
                 "rms_norm", "columns are no multiple of 256, or the packed form is shorter than the rows"))
        return;
    const vk::Range packed = packs ? operation.output.form(*packs) : operation.output.range;
    const vk::Range indices = operation.indices.value_or(vk::Range{});
    const vk::Range nan_probes = probed ? operation.nan_probe->nan_probes : vk::Range{};
    const shaders::RmsNormArguments arguments{
        .x = input.range.address,
        .y = operation.output.range.address,
        .weight = operation.weight.address,
        .indices = indices.address,
        .nan_probes =
            probed ? nan_probes.address : operation.output.range.address, // never null: see sample.cpp
        .words = packed.address,
        .floats = packed.address,
        .scale = operation.scale.value_or(operation.output.range).address,
        .bias = operation.bias.value_or(operation.weight).address,
        .columns = input.columns / groups,
        .x_stride = input.stride,
        .y_stride = operation.output.stride,
        .x_first = operation.input_first,
        .y_first = operation.output_first,
        .x_rows = static_cast<uint32_t>(input.range.bytes / 4 / input.stride),
        .use_indices = indexed ? 1U : 0U,
        .epsilon = operation.epsilon,
        .add = operation.store == Store::add ? 1U : 0U,
        .nan_probe = probed ? operation.nan_probe->nan_probe : no_nan_probe,
        .use_scale = operation.scale ? 1U : 0U,
        .factor = operation.factor,
        .flags = (operation.subtracts_mean ? uint32_t{NORM_SUBTRACTS_MEAN} : 0U) |
                 (operation.bias ? uint32_t{NORM_HAS_BIAS} : 0U) |
                 (operation.replaces_input ? uint32_t{NORM_REPLACES_INPUT} : 0U),
        .unused = 0,
    };
    const ReducePlan plan = norm_plan(launcher.target(), input.columns / groups);
    const vk::Range read = indexed ? input.range : input.rows(operation.input_first, operation.count);
    launch(launcher,
           {.variant = shaders::rms_norm(plan.reduce),
            .specialization = {plan.workgroup, plan.one_subgroup, packed_constant(launcher.target(), packs)},
            .groups = {operation.count, groups, 1},
            .reads = {read, operation.weight, indices, operation.scale.value_or(vk::Range{}),
                      operation.bias.value_or(vk::Range{})},
            .writes = {operation.output.rows(operation.output_first, operation.count), nan_probes,
                       packs ? operation.output.form_rows(*packs, operation.output_first, operation.count)
                             : vk::Range{},
                       operation.replaces_input ? read : vk::Range{}}},
           arguments);
    if (packs)
        launcher.note_packed(operation.output, *packs, operation.output_first, operation.count);
}

} // namespace etna::kernels

#include "core/kernels/operations/altup.hpp"

#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/altup/arguments.h"

#include <algorithm>
#include <string_view>

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::AltUpArguments) == 80);
static_assert(sizeof(shaders::MatchRmsArguments) == 40);
static_assert(sizeof(shaders::StatisticalTopKArguments) == 24);

bool has_rows(const Activations& all, uint32_t rows) {
    return all.range.bytes >= uint64_t{rows} * all.stride * 4;
}

/// Rows of each stream.
uint32_t stream_rows(const AltUp& operation) {
    return static_cast<uint32_t>(operation.streams.range.bytes / 4 / operation.streams.stride /
                                 (std::max(operation.inputs, 2U) - 1));
}

bool fits(const Launcher& launcher, std::string_view name, const AltUp& operation, uint32_t coefficients) {
    const Activations& active = operation.active;
    const auto is_like_active = [&](const Activations& other) {
        return other.columns == active.columns && other.stride == active.stride;
    };
    return require(launcher, operation.inputs >= 2 && operation.inputs <= altup_streams_max, name,
                   "too few streams, or too many") &&
           require(launcher, is_like_active(operation.streams) && is_like_active(operation.prediction), name,
                   "streams differ in width") &&
           require(launcher,
                   has_rows(active, operation.count) && has_rows(operation.prediction, operation.count) &&
                       stream_rows(operation) >= operation.count,
                   name, "streams have too few rows") &&
           require(launcher,
                   operation.router.bytes >= uint64_t{operation.inputs} * active.columns * 4 &&
                       operation.norm.bytes >= uint64_t{active.columns} * 4,
                   name, "router or norm is short") &&
           require(launcher, operation.coefficients.bytes >= uint64_t{coefficients} * operation.inputs * 4,
                   name, "coefficients are fewer than streams need");
}

/// What altup_correct() has in addition.
struct Corrected {
    vk::Range scale;
    Activations output;
};

void launch_altup(const Launcher& launcher, const AltUp& operation, const Corrected* corrected) {
    const Activations& active = operation.active;
    const uint32_t rows = stream_rows(operation);
    const vk::Range own = active.rows(0, operation.count);
    const vk::Range prediction = operation.prediction.rows(0, operation.count);
    const vk::Range output = corrected ? corrected->output.rows(0, operation.count) : vk::Range{};
    const vk::Range scale = corrected ? corrected->scale : vk::Range{};
    const shaders::AltUpArguments arguments{
        .current = own.address,
        .streams = operation.streams.range.address,
        .prediction = prediction.address,
        .router = operation.router.address,
        .norm = operation.norm.address,
        .coefficients = operation.coefficients.address,
        .scaled = corrected ? output.address : own.address, // never null: see sample.cpp
        .output_scale = corrected ? scale.address : own.address,
        .columns = active.columns,
        .stride = active.stride,
        .stream_stride = rows * active.stride,
        .epsilon = operation.epsilon,
    };
    const ReducePlan plan = reduce_plan(launcher.target(), shaders::altup(shaders::Reduce::subgroup));
    launch(launcher,
           {.variant = shaders::altup(plan.reduce),
            .specialization = {plan.workgroup, plan.one_subgroup, operation.inputs, corrected ? 1U : 0U},
            .groups = {operation.count, 1, 1},
            .reads = {operation.router, operation.norm, operation.coefficients, scale},
            .writes = {own, operation.streams.range, prediction, output}},
           arguments);
}

} // namespace

void altup_predict(const Launcher& launcher, const AltUp& operation) {
    if (operation.count == 0 ||
        !fits(launcher, "altup_predict", operation, operation.inputs * operation.inputs))
        return;
    launch_altup(launcher, operation, nullptr);
}

void altup_correct(const Launcher& launcher, const AltUp& operation, vk::Range scale,
                   const Activations& output) {
    constexpr std::string_view name = "altup_correct";
    if (operation.count == 0 || !fits(launcher, name, operation, operation.inputs) ||
        !require(launcher,
                 output.columns == operation.active.columns && output.stride == operation.active.stride &&
                     has_rows(output, operation.count),
                 name, "the output differs in width or has too few rows") ||
        !require(launcher, scale.bytes >= uint64_t{output.columns} * 4, name, "the scale is short"))
        return;
    const Corrected corrected{.scale = scale, .output = output};
    launch_altup(launcher, operation, &corrected);
}

void match_rms(const Launcher& launcher, const MatchRms& operation) {
    const Activations& input = operation.input;
    const auto is_like_input = [&](const Activations& other) {
        return other.columns == input.columns && other.stride == input.stride &&
               has_rows(other, operation.count);
    };
    if (operation.count == 0 ||
        !require(launcher,
                 is_like_input(input) && is_like_input(operation.target) && is_like_input(operation.output),
                 "match_rms", "rows differ in width, or are too few"))
        return;
    const vk::Range x = input.rows(0, operation.count);
    const vk::Range target = operation.target.rows(0, operation.count);
    const vk::Range y = operation.output.rows(0, operation.count);
    const shaders::MatchRmsArguments arguments{.x = x.address,
                                               .target = target.address,
                                               .y = y.address,
                                               .columns = input.columns,
                                               .stride = input.stride,
                                               .epsilon = operation.epsilon,
                                               .add = operation.store == Store::add ? 1U : 0U};
    const ReducePlan plan = reduce_plan(launcher.target(), shaders::match_rms(shaders::Reduce::subgroup));
    launch(launcher,
           {.variant = shaders::match_rms(plan.reduce),
            .specialization = {plan.workgroup, plan.one_subgroup},
            .groups = {operation.count, 1, 1},
            .reads = {x, target},
            .writes = {y}},
           arguments);
}

void statistical_top_k(const Launcher& launcher, const StatisticalTopK& operation) {
    const Activations& values = operation.values;
    if (operation.count == 0 || !require(launcher, has_rows(values, operation.first + operation.count),
                                         "statistical_top_k", "values has too few rows"))
        return;
    const vk::Range rows = values.rows(operation.first, operation.count);
    const shaders::StatisticalTopKArguments arguments{.x = rows.address,
                                                      .columns = values.columns,
                                                      .stride = values.stride,
                                                      .deviations = operation.deviations,
                                                      .unused = 0};
    const ReducePlan plan =
        reduce_plan(launcher.target(), shaders::statistical_top_k(shaders::Reduce::subgroup));
    launch(launcher,
           {.variant = shaders::statistical_top_k(plan.reduce),
            .specialization = {plan.workgroup, plan.one_subgroup},
            .groups = {operation.count, 1, 1},
            .reads = {},
            .writes = {rows}},
           arguments);
}

} // namespace etna::kernels

#include "core/kernels/operations/sample.hpp"

#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/sample/arguments.h"

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::SampleArguments) == 72);

/// As in shaders/sample/sample_info.glsl.
constexpr uint32_t chunk_logits = 1024;
constexpr uint32_t chunks_max = 512;

uint64_t partial_bytes(uint32_t rows, uint32_t vocabulary, uint32_t candidates) {
    return uint64_t{rows} * divide_up(vocabulary, chunk_logits) * (4 + 2 * candidates) * 4;
}

bool fits(const Launcher& launcher, const Sample& operation) {
    const uint32_t vocabulary = operation.logits.columns;
    return require(launcher, operation.candidates >= 1 && operation.candidates <= candidates_max, "sample",
                   "number of candidates is out of range") &&
           require(launcher, divide_up(vocabulary, chunk_logits) <= chunks_max, "sample",
                   "vocabulary is too large") &&
           require(launcher, operation.infos.bytes >= uint64_t{operation.count} * sizeof(SampleInfo),
                   "sample", "infos are short") &&
           require(launcher, operation.results.bytes >= uint64_t{operation.count} * sizeof(SampleResult),
                   "sample", "results are short") &&
           require(launcher,
                   operation.partials.bytes >=
                       partial_bytes(operation.count, vocabulary, operation.candidates),
                   "sample", "room for partial results is short");
}

shaders::SampleArguments arguments_of(const Sample& operation) {
    return {
        .logits = operation.logits.range.address,
        .infos = operation.infos.address,
        .slots = operation.slots.address,
        .partials = operation.partials.address,
        .results = operation.results.address,
        // Never null: CPU drivers load uniform values before they test the condition.
        .nan_probes =
            operation.nan_probes.bytes > 0 ? operation.nan_probes.address : operation.partials.address,
        .vocabulary = operation.logits.columns,
        .logits_stride = operation.logits.stride,
        .chunks = divide_up(operation.logits.columns, chunk_logits),
        .candidates = operation.candidates,
        .slot_count = static_cast<uint32_t>(operation.slots.bytes / 4),
        .nan_probe_rows = static_cast<uint32_t>(operation.nan_probes.bytes / 4),
    };
}

} // namespace

uint64_t sample_partial_bytes(uint32_t rows, uint32_t vocabulary) {
    return partial_bytes(rows, vocabulary, candidates_max);
}

void sample_partial(const Launcher& launcher, const Sample& operation) {
    if (operation.count == 0 || !fits(launcher, operation))
        return;
    const ReducePlan plan =
        reduce_plan(launcher.target(), shaders::sample_partial(shaders::Reduce::subgroup));
    launch(launcher,
           {.variant = shaders::sample_partial(plan.reduce),
            .specialization = {plan.workgroup, plan.one_subgroup},
            .groups = {divide_up(operation.logits.columns, chunk_logits), operation.count, 1},
            .reads = {operation.logits.rows(0, operation.count)},
            .writes = {operation.partials}},
           arguments_of(operation));
}

void sample_finish(const Launcher& launcher, const Sample& operation) {
    if (operation.count == 0 || !fits(launcher, operation))
        return;
    const ReducePlan plan = reduce_plan(launcher.target(), shaders::sample_finish(shaders::Reduce::subgroup));
    launch(launcher,
           {.variant = shaders::sample_finish(plan.reduce),
            .specialization = {plan.workgroup, plan.one_subgroup},
            .groups = {operation.count, 1, 1},
            .reads = {operation.partials, operation.infos, operation.nan_probes},
            .writes = {operation.slots, operation.results}},
           arguments_of(operation));
}

} // namespace etna::kernels

#include "core/kernels/operations/attention.hpp"

#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/attention/arguments.h"

#include <algorithm>
#include <bit>

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::AttentionArguments) == 104);
static_assert(sizeof(shaders::AttentionDecodeArguments) == 120);
static_assert(sizeof(shaders::AttentionPromptArguments) == 120);

/// The prefill path does not split on GPUs: every position lies in the first KV split.
constexpr uint32_t unsplit_tokens = 0x80000000U;
/// Heads of the general kernel from which on an invocation serves one key for all of them.
constexpr uint32_t wide_head_dim = 512;
/// KV splits of a row in the decode kernel, if its keys begin at the start of one.
constexpr uint32_t decode_kv_splits_max = 64;

/// Largest number of KV splits of a row. Keys that do not begin at a split's start overlap at most one split
/// more than they fill.
uint32_t kv_split_count(uint32_t split_tokens, const AttendMax& max) {
    return std::min(divide_up(max.end, split_tokens), divide_up(max.keys, split_tokens) + 1);
}

/// Mesa's CPU driver ends all loops of an invocation after this many iterations together, without an error
/// (gallivm, LP_MAX_TGSI_LOOP_ITERATIONS).
constexpr uint32_t cpu_iterations_max = 65535;

/// Largest number of loop iterations of the general kernel in a tile of one page.
uint32_t tile_iterations(const AttentionShape& shape, const AttentionPlan& plan) {
    const uint32_t scores = divide_up(plan.heads * page_tokens, plan.workgroup);
    const uint32_t heads = divide_up(plan.heads, plan.workgroup);
    const uint32_t pairs = divide_up(plan.heads * round_up(shape.value_dim(), 8) / 2, plan.workgroup);
    return 1 + scores * (2 + divide_up(shape.head_dim, 8)) + 2 * heads * (1 + page_tokens) +
           pairs * page_tokens;
}

/// Keys in a KV split on a CPU: a power of two of tiles, whose iterations stay below half of the limit.
uint32_t cpu_split_tokens(const AttentionShape& shape, const AttentionPlan& plan) {
    return std::bit_floor(std::max(1U, cpu_iterations_max / 2 / tile_iterations(shape, plan))) * page_tokens;
}

/// The kernel of an operation and its KV splits.
struct SplitPlan {
    AttentionPlan plan;
    uint32_t split_tokens = 0; ///< of the general kernel
    uint32_t kv_splits = 0;    ///< largest number of a row
};

/// KV splits over a latent are longer, because the partials of its many wide heads take much memory, and the
/// workgroups of its heads fill a GPU with fewer splits.
uint32_t latent_split_factor(const AttentionShape& shape, const AttentionPlan& plan) {
    return shape.latent_dim > 0 ? std::max(1U, shape.q_heads / plan.heads / 2) : 1;
}

SplitPlan split_plan(const PlanTarget& target, const AttentionShape& shape, RowPath path,
                     const AttendMax& max) {
    SplitPlan result{.plan = attention_plan(target, shape, path)};
    if (result.plan.kernel == AttentionKernel::prompt) {
        result.kv_splits = 1;
        return result;
    }
    if (result.plan.kernel == AttentionKernel::decode) {
        // A row with more keys has longer splits, and no more of them.
        const uint32_t keys = std::min(max.keys, decode_tile_tokens * decode_kv_splits_max);
        result.kv_splits = kv_split_count(decode_tile_tokens, {.end = max.end, .keys = keys});
        return result;
    }
    result.split_tokens = path == RowPath::prefill
                              ? unsplit_tokens
                              : kv_split_tokens(target) * latent_split_factor(shape, result.plan);
    if (target.profile.type == vk::DeviceType::cpu)
        result.split_tokens = std::min(result.split_tokens, cpu_split_tokens(shape, result.plan));
    result.kv_splits = kv_split_count(result.split_tokens, max);
    return result;
}

SplitPlan split_plan(const PlanTarget& target, const Attention& operation) {
    return split_plan(target, operation.shape(), operation.path, operation.attend_max);
}

/// Bytes of the partials of `rows` rows, as shaders/attention/arguments.h has them.
uint64_t partial_bytes(const SplitPlan& splits, const AttentionShape& shape, uint32_t rows) {
    if (splits.kv_splits <= 1)
        return 0;
    const uint64_t statistics = splits.plan.kernel == AttentionKernel::decode ? 4 : 2;
    return uint64_t{rows} * splits.kv_splits * shape.q_heads * (round_up(shape.value_dim(), 8) + statistics) *
           4;
}

/// Bytes of the decode kernel's counters: one for each row and workgroup of a KV split.
uint64_t counter_bytes(const SplitPlan& splits, const AttentionShape& shape, uint32_t rows) {
    const bool counts = splits.plan.kernel == AttentionKernel::decode && splits.kv_splits > 1;
    return counts ? uint64_t{rows} * (shape.q_heads / splits.plan.heads) * 4 : 0;
}

bool fits(const Launcher& launcher, const Attention& operation, const SplitPlan& splits) {
    const LayerCache& cache = operation.cache;
    const uint32_t rows = operation.rows.count;
    return require(launcher,
                   operation.q.columns == operation.q_heads * cache.head_dim &&
                       operation.output.columns == operation.q_heads * cache.value_dim(),
                   "attention", "q or output does not match the number of heads") &&
           require(launcher, cache_fits(cache), "attention", "cache is shorter than its shape") &&
           require(launcher, operation.partials.bytes >= partial_bytes(splits, operation.shape(), rows),
                   "attention", "the scratch buffer for partials is too small") &&
           require(launcher, operation.counters.bytes >= counter_bytes(splits, operation.shape(), rows),
                   "attention", "there are fewer counters than workgroups") &&
           require(launcher, operation.alibi == 0 || cache.head_dim < wide_head_dim, "attention",
                   "heads with ALiBi are too wide") &&
           require(launcher, !operation.sinks || operation.sinks->bytes >= uint64_t{operation.q_heads} * 4,
                   "attention", "sinks are fewer than query heads") &&
           require(launcher,
                   !operation.packed ||
                       (splits.plan.kernel == AttentionKernel::decode &&
                        splits.plan.heads * cache.head_dim % tile_columns == 0 &&
                        operation.output.packed.bytes >= (uint64_t{operation.rows.first} + rows) *
                                                             packed_row_bytes(operation.output.columns)),
                   "attention", "the kernel cannot write the packed form, or it is shorter than the rows");
}

/// The conditions under which a plan can be made.
bool has_plan(const Launcher& launcher, const Attention& operation) {
    const LayerCache& cache = operation.cache;
    return require(launcher, cache.kv_heads > 0 && operation.q_heads % cache.kv_heads == 0, "attention",
                   "the number of query heads is not a multiple of that of kv heads") &&
           require(launcher,
                   cache.head_dim > 0 && cache.head_dim % 2 == 0 &&
                       cache.head_dim <= (cache.latent_dim > 0 ? latent_key_max : head_dim_max),
                   "attention", "head size is odd or too large");
}

shaders::AttentionArguments arguments_of(const Attention& operation, const SplitPlan& splits) {
    const Rows& rows = operation.rows;
    return {
        .rows = rows.infos.address,
        .q = operation.q.rows(rows.first, rows.count).address,
        .y = operation.output.rows(rows.first, rows.count).address,
        .keys = operation.cache.keys.address,
        .values = operation.cache.stored_values().address,
        .tables = operation.tables.range.address,
        .partials = operation.partials.address,
        .sinks = operation.sinks.value_or(operation.q.range).address, // never null: see sample.cpp
        .q_stride = operation.q.stride,
        .y_stride = operation.output.stride,
        .q_heads = operation.q_heads,
        .kv_heads = operation.cache.kv_heads,
        .pages = operation.cache.pages,
        .kv_split_tokens = splits.split_tokens,
        .kv_splits = splits.kv_splits,
        .scale = operation.scale,
        .softcap = operation.softcap,
        .alibi = operation.alibi,
    };
}

shaders::AttentionDecodeArguments decode_arguments_of(const Attention& operation, const SplitPlan& splits) {
    const Rows& rows = operation.rows;
    const vk::Range written = operation.packed ? operation.output.packed_rows(rows.first, rows.count)
                                               : operation.output.rows(rows.first, rows.count);
    return {
        .rows = rows.infos.address,
        .q = operation.q.rows(rows.first, rows.count).address,
        .y = operation.output.rows(rows.first, rows.count).address,
        .keys = operation.cache.keys.address,
        .values = operation.cache.values.address,
        .tables = operation.tables.range.address,
        .partials = operation.partials.address,
        .counters = operation.counters.address,
        .sinks = operation.sinks.value_or(operation.q.range).address, // never null: see sample.cpp
        .words = written.address,
        .floats = written.address,
        .q_stride = operation.q.stride / 4,
        .y_stride = operation.output.stride / 4,
        .q_heads = operation.q_heads,
        .kv_heads = operation.cache.kv_heads,
        .pages = operation.cache.pages,
        .kv_splits = splits.kv_splits,
        .scale = operation.scale,
        .softcap = operation.softcap,
    };
}

shaders::AttentionPromptArguments prompt_arguments_of(const Attention& operation) {
    const Rows& rows = operation.rows;
    return {
        .rows = rows.infos.address,
        .q = operation.q.rows(rows.first, rows.count).address,
        .y = operation.output.rows(rows.first, rows.count).address,
        .keys = operation.cache.keys.address,
        .values = operation.cache.values.address,
        .key_codes = operation.cache.keys.address,
        .value_codes = operation.cache.values.address,
        .key_scales = operation.cache.keys.address,
        .value_scales = operation.cache.values.address,
        .tables = operation.tables.range.address,
        .sinks = operation.sinks.value_or(operation.q.range).address, // never null: see sample.cpp
        .q_stride = operation.q.stride / 4,
        .y_stride = operation.output.stride / 4,
        .kv_heads = operation.cache.kv_heads,
        .pages = operation.cache.pages,
        .count = rows.count,
        .scale = operation.scale,
        .softcap = operation.softcap,
        .unused = 0,
    };
}

/// The shape whose sizes can be measured for one of the kernels.
TunedShape tuned_shape(const Attention& operation, TunedKernel kernel) {
    return {.kernel = kernel,
            .rows = operation.q_heads,
            .columns = operation.cache.head_dim,
            .kv_heads = operation.cache.kv_heads};
}

/// The kernels that split keys. `tuned`: the shape's kernel.
template <class Arguments>
void launch_splits(const Launcher& launcher, const Attention& operation, const SplitPlan& splits,
                   shaders::Variant variant, std::initializer_list<uint32_t> specialization,
                   TunedKernel tuned, const Arguments& arguments) {
    const Rows& rows = operation.rows;
    const bool is_split = splits.kv_splits > 1;
    const bool merges = is_split && splits.plan.kernel == AttentionKernel::decode;
    launch(
        launcher,
        {.variant = variant,
         .specialization = specialization,
         .groups = {operation.q_heads / splits.plan.heads, rows.count, splits.kv_splits},
         .reads = {rows.infos, operation.q.rows(rows.first, rows.count), operation.cache.keys,
                   operation.cache.stored_values(), operation.tables.range,
                   operation.sinks.value_or(vk::Range{})},
         .writes = {operation.output.rows(rows.first, rows.count),
                    operation.packed ? operation.output.packed_rows(rows.first, rows.count) : vk::Range{},
                    is_split ? operation.partials : vk::Range{}, merges ? operation.counters : vk::Range{}},
         .tuned = tuned_shape(operation, tuned)},
        arguments);
}

void record_general(const Launcher& launcher, const Attention& operation, const SplitPlan& splits) {
    const LayerCache& cache = operation.cache;
    launch_splits(launcher, operation, splits, shaders::attention(),
                  {splits.plan.workgroup, cache.head_dim, splits.plan.heads,
                   static_cast<uint32_t>(cache.formats.keys), static_cast<uint32_t>(cache.values_format()),
                   operation.sinks ? 1U : 0U, cache.value_dim()},
                  TunedKernel::attention, arguments_of(operation, splits));
}

void record_decode(const Launcher& launcher, const Attention& operation, const SplitPlan& splits) {
    launch_splits(launcher, operation, splits, shaders::attention_decode(),
                  {splits.plan.workgroup, operation.cache.head_dim, splits.plan.heads,
                   operation.sinks ? 1U : 0U, operation.packed ? written_blocks(launcher.target()) : 0U},
                  TunedKernel::attention_decode, decode_arguments_of(operation, splits));
    if (operation.packed)
        launcher.note_packed(operation.output, PackedForm::blocks, operation.rows.first,
                             operation.rows.count);
}

void record_prompt(const Launcher& launcher, const Attention& operation, const SplitPlan& splits) {
    const Rows& rows = operation.rows;
    const LayerCache& cache = operation.cache;
    const AttentionPlan& plan = splits.plan;
    const uint32_t sequences =
        operation.sequences > 0 ? std::min(operation.sequences, rows.count) : rows.count;
    launch(launcher,
           {.variant = shaders::attention_prompt(),
            .specialization = {plan.workgroup, cache.head_dim, plan.heads,
                               static_cast<uint32_t>(cache.formats.keys),
                               static_cast<uint32_t>(cache.formats.values), operation.sinks ? 1U : 0U,
                               plan.subgroup, plan.blocks, plan.tile, plan.held, plan.shape.rows,
                               plan.shape.columns, plan.shape.depth},
            .groups = {cache.kv_heads, divide_up(rows.count, plan.rows_each()),
                       std::min(sequences, plan.rows_each())},
            .reads = {rows.infos, operation.q.rows(rows.first, rows.count), cache.keys, cache.values,
                      operation.tables.range, operation.sinks.value_or(vk::Range{})},
            .writes = {operation.output.rows(rows.first, rows.count)},
            .subgroup = launcher.target().profile.subgroup_size_control ? plan.subgroup : 0},
           prompt_arguments_of(operation));
}

} // namespace

uint32_t decode_kv_split_tokens(uint32_t keys) {
    return decode_tile_tokens << std::bit_width((keys - 1) / (decode_tile_tokens * decode_kv_splits_max));
}

uint64_t attention_partial_bytes(const PlanTarget& target, const AttentionShape& shape, uint32_t rows,
                                 const AttendMax& attend_max, RowPath path) {
    return partial_bytes(split_plan(target, shape, path, attend_max), shape, rows);
}

uint64_t attention_counter_bytes(const PlanTarget& target, const AttentionShape& shape, uint32_t rows,
                                 const AttendMax& attend_max) {
    return counter_bytes(split_plan(target, shape, RowPath::decode, attend_max), shape, rows);
}

bool attention_writes_packed(const PlanTarget& target, const AttentionShape& shape) {
    const AttentionPlan plan = attention_plan(target, shape, RowPath::decode);
    return plan.kernel == AttentionKernel::decode && plan.heads * shape.head_dim % tile_columns == 0;
}

bool attention_needs_merge(const PlanTarget& target, const Attention& operation) {
    const SplitPlan splits = split_plan(target, operation);
    return operation.rows.count > 0 && splits.plan.kernel == AttentionKernel::general && splits.kv_splits > 1;
}

void attention(const Launcher& launcher, const Attention& operation) {
    if (operation.rows.count == 0 || !has_plan(launcher, operation))
        return;
    const SplitPlan splits = split_plan(launcher.target(), operation);
    if (!fits(launcher, operation, splits))
        return;
    switch (splits.plan.kernel) {
    case AttentionKernel::general:
        return record_general(launcher, operation, splits);
    case AttentionKernel::decode:
        return record_decode(launcher, operation, splits);
    case AttentionKernel::prompt:
        return record_prompt(launcher, operation, splits);
    }
}

void attention_merge(const Launcher& launcher, const Attention& operation) {
    if (operation.rows.count == 0 || !has_plan(launcher, operation) ||
        !attention_needs_merge(launcher.target(), operation))
        return;
    const Rows& rows = operation.rows;
    const SplitPlan splits = split_plan(launcher.target(), operation);
    if (!fits(launcher, operation, splits))
        return;
    launch(launcher,
           {.variant = shaders::attention_merge(),
            .specialization = {operation.cache.value_dim()},
            .groups = {operation.q_heads, rows.count, 1},
            .reads = {rows.infos, operation.partials},
            .writes = {operation.output.rows(rows.first, rows.count)}},
           arguments_of(operation, splits));
}

} // namespace etna::kernels

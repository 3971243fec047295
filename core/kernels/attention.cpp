#include "core/kernels/attention.hpp"

#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/attention/arguments.h"

#include <algorithm>

namespace etna::kernels {
namespace {

static_assert(sizeof(shaders::AttentionArguments) == 104);

/// The prefill path does not split: every position lies in the first KV split.
constexpr uint32_t unsplit_tokens = 0x80000000U;

uint32_t kv_split_tokens(const PlanTarget& target, RowPath path) {
    return path == RowPath::prefill ? unsplit_tokens : kv_split_tokens(target);
}

/// Largest number of KV splits of a row. Keys that do not begin at a split's start overlap at most one split
/// more than they fill.
uint32_t kv_split_count(uint32_t split_tokens, const AttendMax& max) {
    return std::min(divide_up(max.end, split_tokens), divide_up(max.keys, split_tokens) + 1);
}

uint32_t kv_split_count(const PlanTarget& target, const Attention& operation) {
    return kv_split_count(kv_split_tokens(target, operation.path), operation.attend_max);
}

uint64_t partial_bytes(uint32_t rows, uint32_t kv_splits, uint32_t q_heads, uint32_t head_dim) {
    return uint64_t{rows} * kv_splits * q_heads * (round_up(head_dim, 8) + 2) * 4;
}

bool fits(const PlanTarget& target, vk::Recorder& recorder, const Attention& operation) {
    const LayerCache& cache = operation.cache;
    const uint32_t kv_splits = kv_split_count(target, operation);
    return require(recorder, cache.kv_heads > 0 && operation.q_heads % cache.kv_heads == 0, "attention",
                   "the number of query heads is not a multiple of that of kv heads") &&
           require(recorder, cache.head_dim > 0 && cache.head_dim % 2 == 0 && cache.head_dim <= head_dim_max,
                   "attention", "head size is odd or too large") &&
           require(recorder,
                   operation.q.columns == operation.q_heads * cache.head_dim &&
                       operation.output.columns == operation.q.columns,
                   "attention", "q or output does not match the number of heads") &&
           require(recorder, cache_fits(cache), "attention", "cache is shorter than its shape") &&
           require(recorder,
                   kv_splits <= 1 ||
                       operation.partials.bytes >=
                           partial_bytes(operation.rows.count, kv_splits, operation.q_heads, cache.head_dim),
                   "attention", "the scratch buffer for partials is too small") &&
           require(recorder, !operation.sinks || operation.sinks->bytes >= uint64_t{operation.q_heads} * 4,
                   "attention", "sinks are fewer than query heads");
}

shaders::AttentionArguments arguments_of(const PlanTarget& target, const Attention& operation) {
    const Rows& rows = operation.rows;
    return {
        .rows = rows.infos.address,
        .q = operation.q.rows(rows.first, rows.count).address,
        .y = operation.output.rows(rows.first, rows.count).address,
        .keys = operation.cache.keys.address,
        .values = operation.cache.values.address,
        .tables = operation.tables.range.address,
        .partials = operation.partials.address,
        .sinks = operation.sinks.value_or(operation.q.range).address, // never null: see sample.cpp
        .q_stride = operation.q.stride,
        .y_stride = operation.output.stride,
        .q_heads = operation.q_heads,
        .kv_heads = operation.cache.kv_heads,
        .pages = operation.cache.pages,
        .kv_split_tokens = kv_split_tokens(target, operation.path),
        .kv_splits = kv_split_count(target, operation),
        .scale = operation.scale,
        .softcap = operation.softcap,
    };
}

} // namespace

uint64_t attention_partial_bytes(const PlanTarget& target, uint32_t rows, const AttendMax& attend_max,
                                 uint32_t q_heads, uint32_t head_dim) {
    const uint32_t kv_splits = kv_split_count(kv_split_tokens(target), attend_max);
    return kv_splits <= 1 ? 0 : partial_bytes(rows, kv_splits, q_heads, head_dim);
}

bool attention_needs_merge(const PlanTarget& target, const Attention& operation) {
    return operation.rows.count > 0 && kv_split_count(target, operation) > 1;
}

void attention(Library& library, vk::Recorder& recorder, const Attention& operation) {
    const PlanTarget& target = library.target();
    const Rows& rows = operation.rows;
    const LayerCache& cache = operation.cache;
    if (rows.count == 0 || !fits(target, recorder, operation))
        return;
    const AttentionPlan plan = attention_plan(target, operation.q_heads, cache.kv_heads, cache.head_dim);
    const uint32_t kv_splits = kv_split_count(target, operation);
    const vk::Range partials = kv_splits > 1 ? operation.partials : vk::Range{};
    launch(library, recorder,
           {.variant = shaders::attention(),
            .specialization = {plan.workgroup, cache.head_dim, plan.heads,
                               static_cast<uint32_t>(cache.formats.keys),
                               static_cast<uint32_t>(cache.formats.values), operation.sinks ? 1U : 0U},
            .groups = {operation.q_heads / plan.heads, rows.count, kv_splits},
            .reads = {rows.infos, operation.q.rows(rows.first, rows.count), cache.keys, cache.values,
                      operation.tables.range, operation.sinks.value_or(vk::Range{})},
            .writes = {operation.output.rows(rows.first, rows.count), partials}},
           arguments_of(target, operation));
}

void attention_merge(Library& library, vk::Recorder& recorder, const Attention& operation) {
    const PlanTarget& target = library.target();
    const Rows& rows = operation.rows;
    if (!attention_needs_merge(target, operation) || !fits(target, recorder, operation))
        return;
    launch(library, recorder,
           {.variant = shaders::attention_merge(),
            .specialization = {operation.cache.head_dim},
            .groups = {operation.q_heads, rows.count, 1},
            .reads = {rows.infos, operation.partials},
            .writes = {operation.output.rows(rows.first, rows.count)}},
           arguments_of(target, operation));
}

} // namespace etna::kernels

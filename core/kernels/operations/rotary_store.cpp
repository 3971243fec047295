#include "core/kernels/operations/rotary_store.hpp"

#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/rotary/arguments.h"

namespace etna::kernels {

static_assert(sizeof(shaders::RotaryStoreArguments) == 120);

bool rotary_fits(const Launcher& launcher, const RotaryStore& operation) {
    const LayerCache& cache = operation.cache;
    return require(launcher, cache.head_dim > 0 && cache.head_dim % 2 == 0 && cache.head_dim <= head_dim_max,
                   "rotary_store", "head size is odd or too large") &&
           require(launcher, operation.rotated % 2 == 0 && operation.rotated <= cache.head_dim,
                   "rotary_store", "rotated part is odd or larger than the head") &&
           require(launcher,
                   operation.q.columns == operation.q_heads * cache.head_dim &&
                       (!operation.stores || (operation.k.columns == cache.kv_heads * cache.head_dim &&
                                              operation.v.columns == operation.k.columns &&
                                              operation.k.stride == operation.v.stride)),
                   "rotary_store", "q, k, v do not have the heads that are named") &&
           cache_and_angles_fit(launcher, "rotary_store", cache, operation.rows, operation.angles,
                                operation.rotated);
}

bool cache_and_angles_fit(const Launcher& launcher, std::string_view operation, const LayerCache& cache,
                          const Rows& rows, vk::Range angles, uint32_t rotated) {
    const uint64_t bytes = uint64_t{rows.first + rows.count} * rotated * 4;
    return require(launcher, cache_fits(cache), operation, "cache is shorter than its shape") &&
           require(launcher, angles.bytes >= bytes, operation, "angles are short");
}

vk::Range angles_of(const Rows& rows, vk::Range angles, uint32_t rotated) {
    const uint64_t row_bytes = uint64_t{rotated} * 4;
    return angles.part(rows.first * row_bytes, rows.count * row_bytes);
}

void rotary_store(const Launcher& launcher, const RotaryStore& operation) {
    const Rows& rows = operation.rows;
    const LayerCache& cache = operation.cache;
    if (rows.count == 0 || !rotary_fits(launcher, operation))
        return;
    const vk::Range q = operation.q.rows(rows.first, rows.count);
    const bool stores = operation.stores;
    const vk::Range k = stores ? operation.k.rows(rows.first, rows.count) : vk::Range{};
    const vk::Range v = stores ? operation.v.rows(rows.first, rows.count) : vk::Range{};
    const vk::Range angles = angles_of(rows, operation.angles, operation.rotated);
    const vk::Range q_norm = operation.q_norm.value_or(vk::Range{});
    const vk::Range k_norm = operation.k_norm.value_or(vk::Range{});
    const shaders::RotaryStoreArguments arguments{
        .rows = rows.infos.address,
        .q = q.address,
        .k = stores ? k.address : q.address, // never null: see sample.cpp
        .v = stores ? v.address : q.address,
        .angles = angles.address,
        .keys = cache.keys.address,
        .values = cache.values.address,
        .tables = operation.tables.range.address,
        .norms = q_norm.address,
        .k_norms = k_norm.address,
        .q_stride = operation.q.stride,
        .kv_stride = operation.k.stride,
        .q_heads = operation.q_heads,
        .kv_heads = cache.kv_heads,
        .rotated = operation.rotated,
        .pages = cache.pages,
        .epsilon = operation.epsilon,
        .temperature_scale = operation.temperature_scale,
        .temperature_tokens = operation.temperature_tokens,
        .unused = 0,
    };
    const ReducePlan plan = reduce_plan(launcher.target(), shaders::rotary_store(shaders::Reduce::subgroup));
    const uint32_t halves = operation.pairs == RotaryPairs::halves ? 1 : 0;
    const uint32_t norms = operation.q_norm && (operation.k_norm || !stores) ? 1 : 0;
    launch(launcher,
           {.variant = shaders::rotary_store(plan.reduce),
            .specialization = {plan.workgroup, plan.one_subgroup, cache.head_dim, halves, norms,
                               static_cast<uint32_t>(cache.formats.keys),
                               static_cast<uint32_t>(cache.formats.values), operation.norms_values ? 1U : 0U},
            .groups = {operation.q_heads + (stores ? 2 * cache.kv_heads : 0), rows.count, 1},
            .reads = {rows.infos, k, v, angles, operation.tables.range, q_norm, k_norm},
            .writes = {q, stores ? cache.keys : vk::Range{}, stores ? cache.values : vk::Range{}}},
           arguments);
}

} // namespace etna::kernels

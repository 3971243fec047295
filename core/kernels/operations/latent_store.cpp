#include "core/kernels/operations/latent_store.hpp"

#include "core/kernels/policy.hpp"
#include "core/kernels/record.hpp"
#include "shaders/rotary/arguments.h"

namespace etna::kernels {

static_assert(sizeof(shaders::LatentStoreArguments) == 104);

namespace {

bool fits(const Launcher& launcher, const LatentStore& operation) {
    constexpr std::string_view name = "latent_store";
    const LayerCache& cache = operation.cache;
    return require(launcher,
                   cache.kv_heads == 1 && cache.latent_dim > 0 && operation.rotated % 2 == 0 &&
                       cache.head_dim == cache.latent_dim + operation.rotated &&
                       cache.head_dim <= latent_key_max,
                   name, "keys are not a latent and a rotated part") &&
           require(launcher,
                   operation.q.columns == operation.q_heads * (operation.unrotated + operation.rotated) &&
                       operation.output.columns == operation.q_heads * cache.head_dim &&
                       operation.kv.columns == cache.head_dim,
                   name, "q, output or kv does not have the heads that are named") &&
           require(launcher, operation.norm.bytes >= uint64_t{cache.latent_dim} * 4, name, "norm is short") &&
           cache_and_angles_fit(launcher, name, cache, operation.rows, operation.angles, operation.rotated);
}

} // namespace

void latent_store(const Launcher& launcher, const LatentStore& operation) {
    const Rows& rows = operation.rows;
    const LayerCache& cache = operation.cache;
    if (rows.count == 0 || !fits(launcher, operation))
        return;
    const vk::Range q = operation.q.rows(rows.first, rows.count);
    const vk::Range output = operation.output.rows(rows.first, rows.count);
    const vk::Range kv = operation.kv.rows(rows.first, rows.count);
    const vk::Range angles = angles_of(rows, operation.angles, operation.rotated);
    const shaders::LatentStoreArguments arguments{
        .rows = rows.infos.address,
        .q = q.address,
        .y = output.address,
        .kv = kv.address,
        .norm = operation.norm.address,
        .angles = angles.address,
        .keys = cache.keys.address,
        .tables = operation.tables.range.address,
        .q_stride = operation.q.stride,
        .y_stride = operation.output.stride,
        .kv_stride = operation.kv.stride,
        .q_heads = operation.q_heads,
        .kv_heads = cache.kv_heads,
        .unrotated = operation.unrotated,
        .rotated = operation.rotated,
        .pages = cache.pages,
        .epsilon = operation.epsilon,
        .unused = 0,
    };
    const ReducePlan plan = reduce_plan(launcher.target(), shaders::latent_store(shaders::Reduce::subgroup));
    launch(launcher,
           {.variant = shaders::latent_store(plan.reduce),
            .specialization = {plan.workgroup, plan.one_subgroup, cache.head_dim, cache.latent_dim,
                               operation.pairs == RotaryPairs::halves ? 1U : 0U,
                               static_cast<uint32_t>(cache.formats.keys)},
            .groups = {operation.q_heads + 1, rows.count, 1},
            .reads = {rows.infos, q, kv, operation.norm, angles, operation.tables.range},
            .writes = {output, cache.keys}},
           arguments);
}

} // namespace etna::kernels

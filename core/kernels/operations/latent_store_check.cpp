#include "core/kernels/operations/latent_store.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/cache.hpp"
#include "core/kernels/self_check/heads.hpp"
#include "core/kernels/self_check/kernel_run.hpp"

#include <cmath>
#include <span>

namespace etna::kernels {
namespace {

constexpr uint32_t latent_rows = 3;
constexpr uint32_t latent_heads = 3;
constexpr uint32_t unrotated = 14;
constexpr float latent_epsilon = 1e-5F;

struct LatentShape {
    CacheFormat cache;
    uint32_t latent_dim;
    uint32_t rotated;
    RotaryPairs pairs;
};

std::vector<Bounded> without_error(std::span<const float> numbers) {
    std::vector<Bounded> result;
    result.reserve(numbers.size());
    for (const float one : numbers)
        result.push_back({one, 0});
    return result;
}

void make_problem(KernelRun& run, const LatentShape& shape) {
    Noise noise(19);
    const uint32_t key_dim = shape.latent_dim + shape.rotated;
    const uint32_t query_dim = unrotated + shape.rotated;
    RunCache cache = put_cache(run, {shape.cache, 1, key_dim, 45});
    cache.device.latent_dim = shape.latent_dim;
    const std::vector<uint32_t> positions{0, 33, 44};
    std::vector<RowInfo> infos;
    std::vector<float> angles;
    for (const uint32_t position : positions) {
        infos.push_back({.position = position, .table = RunCache::table_start});
        for (uint32_t p = 0; p < shape.rotated / 2; ++p) {
            const double angle = 3 * noise.number();
            angles.push_back(static_cast<float>(std::cos(angle)));
            angles.push_back(static_cast<float>(std::sin(angle)));
        }
    }
    const std::vector<float> q = noise.numbers(uint64_t{latent_rows} * latent_heads * query_dim);
    const std::vector<float> kv = noise.numbers(uint64_t{latent_rows} * key_dim);
    const std::vector<float> norm = noise.numbers(shape.latent_dim);
    const Activations output = run.put_unset(latent_rows, latent_heads * key_dim);
    latent_store({run.library(), run.recorder()},
                 {.rows = {.infos = run.put(infos), .first = 0, .count = latent_rows},
                  .q = run.put_rows(q, latent_rows, latent_heads * query_dim),
                  .output = output,
                  .kv = run.put_rows(kv, latent_rows, key_dim),
                  .norm = run.put(norm),
                  .angles = run.put(angles),
                  .cache = cache.device,
                  .tables = {run.put(cache.table)},
                  .q_heads = latent_heads,
                  .unrotated = unrotated,
                  .rotated = shape.rotated,
                  .pairs = shape.pairs,
                  .epsilon = latent_epsilon});

    const TurnedHead rotates{.rotated = shape.rotated, .pairs = shape.pairs};
    const TurnedHead norms{.norms = true, .epsilon = latent_epsilon};
    std::vector<Bounded> expected;
    for (uint32_t row = 0; row < latent_rows; ++row) {
        const auto own_angles = std::span(angles).subspan(std::size_t{row} * shape.rotated, shape.rotated);
        for (uint32_t head = 0; head < latent_heads; ++head) {
            const std::size_t first = (std::size_t{row} * latent_heads + head) * query_dim + unrotated;
            expected.insert(expected.end(), shape.latent_dim, {KernelRun::unset, 0});
            const auto part =
                turned(rotates, without_error(std::span(q).subspan(first, shape.rotated)), {}, own_angles);
            expected.insert(expected.end(), part.begin(), part.end());
        }
        const auto own = std::span(kv).subspan(std::size_t{row} * key_dim, key_dim);
        auto key = turned(norms, without_error(own.first(shape.latent_dim)), norm, {});
        const auto part = turned(rotates, without_error(own.subspan(shape.latent_dim)), {}, own_angles);
        key.insert(key.end(), part.begin(), part.end());
        expect_position(run, cache, cache.device.keys, positions[row], 0, key);
    }
    run.expect_rows(output, 0, expected);
}

void make_latent_store_problem(KernelRun& run, const KernelUse&) {
    make_problem(run, {CacheFormat::f16, 34, 12, RotaryPairs::adjacent});
    make_problem(run, {CacheFormat::f32, 18, 6, RotaryPairs::halves});
    make_problem(run, {CacheFormat::q8_0, 38, 14, RotaryPairs::adjacent});
}

} // namespace

const Operation latent_store_operation{
    .name = "latent_store",
    .uses =
        [](const PlanTarget& target) {
            return one_use(latent_store_operation, reduced(target, shaders::latent_store));
        },
    .make_problem = make_latent_store_problem,
};

} // namespace etna::kernels

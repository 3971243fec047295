#include "core/kernels/operations/latent_store.hpp"

#include "core/kernels/self_check/cache.hpp"
#include "core/kernels/self_check/heads.hpp"
#include "core/kernels/self_check/problems.hpp"

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

void pose(Trial& trial, const LatentShape& shape) {
    Noise noise(19);
    const uint32_t key_dim = shape.latent_dim + shape.rotated;
    const uint32_t query_dim = unrotated + shape.rotated;
    TrialCache cache = put_cache(trial, {shape.cache, 1, key_dim, 45});
    cache.device.latent_dim = shape.latent_dim;
    const std::vector<uint32_t> positions{0, 33, 44};
    std::vector<RowInfo> infos;
    std::vector<float> angles;
    for (const uint32_t position : positions) {
        infos.push_back({.position = position, .table = TrialCache::table_start});
        for (uint32_t p = 0; p < shape.rotated / 2; ++p) {
            const double angle = 3 * noise.number();
            angles.push_back(static_cast<float>(std::cos(angle)));
            angles.push_back(static_cast<float>(std::sin(angle)));
        }
    }
    const std::vector<float> q = noise.numbers(uint64_t{latent_rows} * latent_heads * query_dim);
    const std::vector<float> kv = noise.numbers(uint64_t{latent_rows} * key_dim);
    const std::vector<float> norm = noise.numbers(shape.latent_dim);
    const Activations output = trial.put_unset(latent_rows, latent_heads * key_dim);
    latent_store({trial.library(), trial.recorder()},
                 {.rows = {.infos = trial.put(infos), .first = 0, .count = latent_rows},
                  .q = trial.put_rows(q, latent_rows, latent_heads * query_dim),
                  .output = output,
                  .kv = trial.put_rows(kv, latent_rows, key_dim),
                  .norm = trial.put(norm),
                  .angles = trial.put(angles),
                  .cache = cache.device,
                  .tables = {trial.put(cache.table)},
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
            expected.insert(expected.end(), shape.latent_dim, {Trial::unset, 0});
            const auto part =
                turned(rotates, without_error(std::span(q).subspan(first, shape.rotated)), {}, own_angles);
            expected.insert(expected.end(), part.begin(), part.end());
        }
        const auto own = std::span(kv).subspan(std::size_t{row} * key_dim, key_dim);
        auto key = turned(norms, without_error(own.first(shape.latent_dim)), norm, {});
        const auto part = turned(rotates, without_error(own.subspan(shape.latent_dim)), {}, own_angles);
        key.insert(key.end(), part.begin(), part.end());
        expect_position(trial, cache, cache.device.keys, positions[row], 0, key);
    }
    trial.expect_rows(output, 0, expected);
}

} // namespace

void pose_latent_store(Trial& trial, const KernelUse&) {
    pose(trial, {CacheFormat::f16, 34, 12, RotaryPairs::adjacent});
    pose(trial, {CacheFormat::f32, 18, 6, RotaryPairs::halves});
    pose(trial, {CacheFormat::q8_0, 38, 14, RotaryPairs::adjacent});
}

} // namespace etna::kernels

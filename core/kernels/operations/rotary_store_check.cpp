#include "core/kernels/operations/rotary_store.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/cache.hpp"
#include "core/kernels/self_check/heads.hpp"
#include "core/kernels/self_check/kernel_run.hpp"

#include <cmath>
#include <span>

namespace etna::kernels {
namespace {

constexpr uint32_t rotary_rows = 3;
constexpr uint32_t q_heads = 3;
constexpr uint32_t kv_heads = 2;
constexpr float epsilon = 1e-5F;

struct RotaryShape {
    CacheFormat cache;
    uint32_t head_dim;
    uint32_t rotated;
    RotaryPairs pairs;
    bool norms;
    float temperature_scale = 0;
};

constexpr uint32_t temperature_tokens = 7;

std::vector<Bounded> exactly(std::span<const float> head) {
    std::vector<Bounded> result;
    result.reserve(head.size());
    for (const float one : head)
        result.push_back({one, 0});
    return result;
}

void make_problem(KernelRun& run, const RotaryShape& shape) {
    Noise noise(9);
    const uint32_t width = q_heads * shape.head_dim;
    const uint32_t kv_width = kv_heads * shape.head_dim;
    const RunCache cache = put_cache(run, {shape.cache, kv_heads, shape.head_dim, 45});
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
    const std::vector<float> q = noise.numbers(uint64_t{rotary_rows} * width);
    const std::vector<float> k = noise.numbers(uint64_t{rotary_rows} * kv_width);
    const std::vector<float> v = noise.numbers(uint64_t{rotary_rows} * kv_width);
    const std::vector<float> q_norm = noise.numbers(shape.head_dim);
    const std::vector<float> k_norm = noise.numbers(shape.head_dim);
    const Activations queries = run.put_rows(q, rotary_rows, width);
    RotaryStore operation{.rows = {.infos = run.put(infos), .first = 0, .count = rotary_rows},
                          .q = queries,
                          .k = run.put_rows(k, rotary_rows, kv_width),
                          .v = run.put_rows(v, rotary_rows, kv_width),
                          .angles = run.put(angles),
                          .cache = cache.device,
                          .tables = {run.put(cache.table)},
                          .q_heads = q_heads,
                          .rotated = shape.rotated,
                          .pairs = shape.pairs,
                          .epsilon = epsilon,
                          .temperature_scale = shape.temperature_scale,
                          .temperature_tokens = temperature_tokens};
    if (shape.norms) {
        operation.q_norm = run.put(q_norm);
        operation.k_norm = run.put(k_norm);
    }
    rotary_store({run.library(), run.recorder()}, operation);

    const TurnedHead how{.rotated = shape.rotated,
                         .pairs = shape.pairs,
                         .norms = shape.norms,
                         .epsilon = epsilon,
                         .temperature_scale = shape.temperature_scale,
                         .temperature_tokens = temperature_tokens};
    std::vector<Bounded> expected;
    const auto head_of = [&](const std::vector<float>& all, uint32_t row, uint32_t heads, uint32_t head) {
        return std::span(all).subspan((std::size_t{row} * heads + head) * shape.head_dim, shape.head_dim);
    };
    for (uint32_t row = 0; row < rotary_rows; ++row) {
        const auto own_angles = std::span(angles).subspan(std::size_t{row} * shape.rotated, shape.rotated);
        for (uint32_t head = 0; head < q_heads; ++head) {
            for (const Bounded& one :
                 turned(how, exactly(head_of(q, row, q_heads, head)), q_norm, own_angles))
                expected.push_back(warmed(how, one, positions[row]));
        }
        for (uint32_t head = 0; head < kv_heads; ++head) {
            expect_position(run, cache, cache.device.keys, positions[row], head,
                            turned(how, exactly(head_of(k, row, kv_heads, head)), k_norm, own_angles));
            expect_position(run, cache, cache.device.values, positions[row], head,
                            exactly(head_of(v, row, kv_heads, head)));
        }
    }
    run.expect_rows(queries, 0, expected);
}

void make_rotary_store_problem(KernelRun& run, const KernelUse&) {
    make_problem(run, {CacheFormat::f16, 18, 12, RotaryPairs::halves, true});
    make_problem(run, {CacheFormat::f32, 18, 18, RotaryPairs::adjacent, false});
    make_problem(run, {CacheFormat::f32, 18, 0, RotaryPairs::halves, false, 0.3F}); // no rotation
    make_problem(run, {CacheFormat::q8_0, 42, 18, RotaryPairs::halves, false}); // a block and a part of one
}

} // namespace

const Operation rotary_store_operation{
    .name = "rotary_store",
    .uses =
        [](const PlanTarget& target) {
            return one_use(rotary_store_operation, reduced(target, shaders::rotary_store));
        },
    .make_problem = make_rotary_store_problem,
};

} // namespace etna::kernels

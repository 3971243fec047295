#include "core/kernels/operations/heads_linear.hpp"

#include "core/kernels/self_check/cache.hpp"
#include "core/kernels/self_check/heads.hpp"
#include "core/kernels/self_check/problems.hpp"
#include "core/kernels/self_check/tiles.hpp"

#include <cmath>
#include <cstddef>

namespace etna::kernels {
namespace {

constexpr uint32_t input_columns = 2 * tile_columns;
constexpr uint32_t query_heads = 3;
constexpr uint32_t key_heads = 2;

struct HeadsShape {
    CacheFormat cache;
    uint32_t head_dim;
    TurnedHead how;
    std::vector<uint32_t> positions; ///< of the rows
};

/// A matrix and its bias.
struct HeadsMatrix {
    NoiseMatrices weight;
    std::vector<float> bias;

    HeadsMatrix(Trial& trial, Noise& noise, Layout layout, uint32_t rows)
        : weight(put_weights(trial, noise, {.layout = layout, .rows = rows, .columns = input_columns})),
          bias(noise.numbers(rows)) {}

    [[nodiscard]] HeadMatrix device(Trial& trial) const { return {weight.device, trial.put(bias)}; }

    /// A head of a row.
    [[nodiscard]] std::vector<Bounded> head(const PendingInput& input, uint32_t row, uint32_t index,
                                            uint32_t head_dim, uint32_t code_bytes) const {
        std::vector<Bounded> result;
        for (uint32_t m = index * head_dim; m < (index + 1) * head_dim; ++m) {
            const Bounded product = input.product(weight, m, row, code_bytes);
            const double y = product.value + bias[m];
            result.push_back({y, product.tolerance + rounding * std::abs(y)});
        }
        return result;
    }
};

void pose(Trial& trial, Layout layout, uint32_t code_bytes, const HeadsShape& shape) {
    Noise noise(31);
    const uint32_t head_dim = shape.head_dim;
    const uint32_t rotated = shape.how.rotated;
    const auto count = static_cast<uint32_t>(shape.positions.size());
    const HeadsMatrix q(trial, noise, layout, query_heads * head_dim);
    const HeadsMatrix k(trial, noise, layout, key_heads * head_dim);
    const HeadsMatrix v(trial, noise, layout, key_heads * head_dim);
    const PendingInput input = put_pending_input(trial, noise, count, input_columns);
    const TrialCache cache = put_cache(trial, {shape.cache, key_heads, head_dim, 45});
    std::vector<RowInfo> infos;
    std::vector<float> angles;
    for (const uint32_t position : shape.positions) {
        infos.push_back({.position = position, .table = TrialCache::table_start});
        for (uint32_t p = 0; p < rotated / 2; ++p) {
            const double angle = 3 * noise.number();
            angles.push_back(static_cast<float>(std::cos(angle)));
            angles.push_back(static_cast<float>(std::sin(angle)));
        }
    }
    const std::vector<float> q_norm = noise.numbers(head_dim);
    const std::vector<float> k_norm = noise.numbers(head_dim);
    const std::vector<uint32_t> counters(heads_counter_bytes(count, query_heads, key_heads) / 4);
    HeadsLinear operation{.q = q.device(trial),
                          .k = k.device(trial),
                          .v = v.device(trial),
                          .input = input.rows,
                          .norm = input.norm,
                          .heads = {.rows = {.infos = trial.put(infos), .first = 0, .count = count},
                                    .q = trial.put_unset(count, query_heads * head_dim),
                                    .k = trial.put_unset(count, key_heads * head_dim),
                                    .v = trial.put_unset(count, key_heads * head_dim),
                                    .angles = trial.put(angles),
                                    .cache = cache.device,
                                    .tables = {trial.put(cache.table)},
                                    .q_heads = query_heads,
                                    .rotated = rotated,
                                    .pairs = shape.how.pairs,
                                    .epsilon = shape.how.epsilon,
                                    .temperature_scale = shape.how.temperature_scale,
                                    .temperature_tokens = shape.how.temperature_tokens},
                          .counters = trial.put(counters)};
    if (shape.how.norms) {
        operation.heads.q_norm = trial.put(q_norm);
        operation.heads.k_norm = trial.put(k_norm);
    }
    heads_linear({trial.library(), trial.recorder()}, operation);

    std::vector<Bounded> expected;
    for (uint32_t row = 0; row < count; ++row) {
        const uint32_t position = shape.positions[row];
        const auto own_angles = std::span(angles).subspan(std::size_t{row} * rotated, rotated);
        for (uint32_t head = 0; head < query_heads; ++head) {
            for (const Bounded& one :
                 turned(shape.how, q.head(input, row, head, head_dim, code_bytes), q_norm, own_angles))
                expected.push_back(warmed(shape.how, one, position));
        }
        for (uint32_t head = 0; head < key_heads; ++head) {
            expect_position(
                trial, cache, cache.device.keys, position, head,
                turned(shape.how, k.head(input, row, head, head_dim, code_bytes), k_norm, own_angles));
            expect_position(trial, cache, cache.device.values, position, head,
                            v.head(input, row, head, head_dim, code_bytes));
        }
    }
    trial.expect_rows(operation.heads.q, 0, expected);
    trial.expect_words(operation.counters, counters);
}

} // namespace

void pose_heads_linear(Trial& trial, const KernelUse& use) {
    const uint32_t code_bytes = code_bytes_of(
        trial, use.variant == shaders::heads_codes(static_cast<shaders::Format>(use.layout.format)));
    pose(trial, use.layout, code_bytes,
         {.cache = CacheFormat::f16,
          .head_dim = 32,
          .how = {.rotated = 20, .pairs = RotaryPairs::halves, .norms = true, .epsilon = 1e-3F},
          .positions = {0, 33, 44, 7, 12}});
    pose(trial, use.layout, code_bytes,
         {.cache = CacheFormat::f32,
          .head_dim = 24,
          .how = {.rotated = 24, .temperature_scale = 0.3F, .temperature_tokens = 7},
          .positions = {41}});
}

} // namespace etna::kernels

#include "core/kernels/operations/heads_linear.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/cache.hpp"
#include "core/kernels/self_check/heads.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
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

    HeadsMatrix(KernelRun& run, Noise& noise, Layout layout, uint32_t rows)
        : weight(put_weights(run, noise, {.layout = layout, .rows = rows, .columns = input_columns})),
          bias(noise.numbers(rows)) {}

    [[nodiscard]] HeadMatrix device(KernelRun& run) const { return {weight.device, run.put(bias)}; }

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

void make_problem(KernelRun& run, Layout layout, uint32_t code_bytes, const HeadsShape& shape) {
    Noise noise(31);
    const uint32_t head_dim = shape.head_dim;
    const uint32_t rotated = shape.how.rotated;
    const auto count = static_cast<uint32_t>(shape.positions.size());
    const HeadsMatrix q(run, noise, layout, query_heads * head_dim);
    const HeadsMatrix k(run, noise, layout, key_heads * head_dim);
    const HeadsMatrix v(run, noise, layout, key_heads * head_dim);
    const PendingInput input = put_pending_input(run, noise, count, input_columns);
    const RunCache cache = put_cache(run, {shape.cache, key_heads, head_dim, 45});
    std::vector<RowInfo> infos;
    std::vector<float> angles;
    for (const uint32_t position : shape.positions) {
        infos.push_back({.position = position, .table = RunCache::table_start});
        for (uint32_t p = 0; p < rotated / 2; ++p) {
            const double angle = 3 * noise.number();
            angles.push_back(static_cast<float>(std::cos(angle)));
            angles.push_back(static_cast<float>(std::sin(angle)));
        }
    }
    const std::vector<float> q_norm = noise.numbers(head_dim);
    const std::vector<float> k_norm = noise.numbers(head_dim);
    const std::vector<uint32_t> counters(heads_counter_bytes(count, query_heads, key_heads) / 4);
    HeadsLinear operation{.q = q.device(run),
                          .k = k.device(run),
                          .v = v.device(run),
                          .input = input.rows,
                          .norm = input.norm,
                          .heads = {.rows = {.infos = run.put(infos), .first = 0, .count = count},
                                    .q = run.put_unset(count, query_heads * head_dim),
                                    .k = run.put_unset(count, key_heads * head_dim),
                                    .v = run.put_unset(count, key_heads * head_dim),
                                    .angles = run.put(angles),
                                    .cache = cache.device,
                                    .tables = {run.put(cache.table)},
                                    .q_heads = query_heads,
                                    .rotated = rotated,
                                    .pairs = shape.how.pairs,
                                    .epsilon = shape.how.epsilon,
                                    .temperature_scale = shape.how.temperature_scale,
                                    .temperature_tokens = shape.how.temperature_tokens},
                          .counters = run.put(counters)};
    if (shape.how.norms) {
        operation.heads.q_norm = run.put(q_norm);
        operation.heads.k_norm = run.put(k_norm);
    }
    heads_linear({run.library(), run.recorder()}, operation);

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
                run, cache, cache.device.keys, position, head,
                turned(shape.how, k.head(input, row, head, head_dim, code_bytes), k_norm, own_angles));
            expect_position(run, cache, cache.device.values, position, head,
                            v.head(input, row, head, head_dim, code_bytes));
        }
    }
    run.expect_rows(operation.heads.q, 0, expected);
    run.expect_words(operation.counters, counters);
}

void make_heads_linear_problem(KernelRun& run, const KernelUse& use) {
    const uint32_t code_bytes = code_bytes_of(
        run, use.variant == shaders::heads_codes(static_cast<shaders::Format>(use.layout->format)));
    make_problem(run, *use.layout, code_bytes,
                 {.cache = CacheFormat::f16,
                  .head_dim = 32,
                  .how = {.rotated = 20, .pairs = RotaryPairs::halves, .norms = true, .epsilon = 1e-3F},
                  .positions = {0, 33, 44, 7, 12}});
    make_problem(run, *use.layout, code_bytes,
                 {.cache = CacheFormat::f32,
                  .head_dim = 24,
                  .how = {.rotated = 24, .temperature_scale = 0.3F, .temperature_tokens = 7},
                  .positions = {41}});
}

std::vector<KernelUse> heads_linear_uses(const PlanTarget& target) {
    constexpr uint32_t usual_head_dim = 128;
    std::vector<KernelUse> uses;
    for (const Layout layout : tiled_matrices(target)) {
        const LinearPlan plan =
            heads_linear_plan(target, layout.format, usual_width, usual_width, 1, usual_head_dim);
        const shaders::Variant variant = heads_linear_variant(plan, layout.format);
        if (usable(variant, target.profile).has_value() && !target.untrusted.contains(variant))
            uses.push_back({.operation = &heads_linear_operation, .variant = variant, .layout = layout});
    }
    return uses;
}

} // namespace

const Operation heads_linear_operation{
    .name = "heads_linear",
    .weights = WeightKind::matrix,
    .uses = heads_linear_uses,
    .make_problem = make_heads_linear_problem,
};

} // namespace etna::kernels

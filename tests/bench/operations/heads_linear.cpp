#include "core/kernels/operations/heads_linear.hpp"

#include "tests/bench/operations/cases.hpp"

#include <fmt/format.h>

namespace etna::bench {
namespace {

void add_heads_linear(Cases& cases, Layout layout, uint32_t count) {
    cases.push_back({fmt::format("heads_linear {}, {} columns", to_string(layout.format), count),
                     [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         constexpr uint32_t head_dim = 128;
                         constexpr uint32_t kv_width = width / 4;
                         const auto head_matrix = [&](uint32_t rows) {
                             return HeadMatrix{.weight = matrix(space, layout, rows)};
                         };
                         heads_linear({library, recorder},
                                      {.q = head_matrix(width),
                                       .k = head_matrix(kv_width),
                                       .v = head_matrix(kv_width),
                                       .input = activations(space, width),
                                       .norm = PendingNorm{.squares = space.take()},
                                       .heads = {.rows = {.infos = space.take(), .count = count},
                                                 .q = activations(space, width),
                                                 .k = activations(space, kv_width),
                                                 .v = activations(space, kv_width),
                                                 .angles = space.take(),
                                                 .cache = {.kv_heads = kv_width / head_dim,
                                                           .head_dim = head_dim,
                                                           .pages = 1,
                                                           .keys = space.take(),
                                                           .values = space.take()},
                                                 .tables = {space.take()},
                                                 .q_heads = width / head_dim,
                                                 .rotated = head_dim,
                                                 .pairs = RotaryPairs::halves},
                                       .counters = space.take()});
                     }});
}

} // namespace

void add_heads_linear_cases(Cases& cases, const PlanTarget& target) {
    if (!target.profile.large_push_constants)
        return;
    for (const Layout layout : possible_tiles(target)) {
        for (const uint32_t count : {1U, 2U, 4U})
            add_heads_linear(cases, layout, count);
    }
}

} // namespace etna::bench

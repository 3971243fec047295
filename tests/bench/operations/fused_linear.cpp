#include "core/kernels/operations/fused_linear.hpp"

#include "tests/bench/operations/cases.hpp"

#include <fmt/format.h>

namespace etna::bench {
namespace {

void add_fused_linear(Cases& cases, Layout layout, uint32_t count) {
    for (const bool gated : {false, true}) {
        cases.push_back({fmt::format("fused_linear {}{}, {} columns", to_string(layout.format),
                                     gated ? ", gated" : "", count),
                         [=](Library& library, vk::Recorder& recorder) {
                             Space space;
                             FusedLinear operation{.weight = matrix(space, layout, width),
                                                   .input = activations(space, width),
                                                   .output = activations(space, width),
                                                   .packs = activations(space, width),
                                                   .counters = space.take(),
                                                   .count = count};
                             if (gated)
                                 operation.gated = GatedBy{.up = matrix(space, layout, width)};
                             else
                                 operation.next_norm = NextNorm{.weight = space.take(),
                                                                .squares = space.take(),
                                                                .nan_probe = {.nan_probes = space.take()}};
                             fused_linear({library, recorder}, operation);
                         }});
    }
}

} // namespace

void add_fused_linear_cases(Cases& cases, const PlanTarget& target) {
    for (const Layout layout : possible_tiles(target)) {
        for (const uint32_t count : {1U, 2U, 4U})
            add_fused_linear(cases, layout, count);
    }
}

} // namespace etna::bench

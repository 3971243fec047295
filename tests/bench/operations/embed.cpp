#include "core/kernels/operations/embed.hpp"

#include "tests/bench/operations/cases.hpp"

#include <fmt/format.h>

namespace etna::bench {
namespace {

void add_embed(Cases& cases, Layout layout) {
    cases.push_back({fmt::format("embed {} {}", to_string(layout.format), to_string(layout.arrangement)),
                     [layout](Library& library, vk::Recorder& recorder) {
                         Space space;
                         embed({library, recorder}, {.rows = rows_of(space),
                                                     .slots = space.take(),
                                                     .table = matrix(space, layout, width),
                                                     .output = activations(space, width)});
                     }});
}

} // namespace

void add_embed_cases(Cases& cases, const PlanTarget&) {
    for (const Layout layout : every_layout()) {
        if (layout.format != Format::f32 || layout.arrangement != Arrangement::tiles)
            add_embed(cases, layout);
    }
}

} // namespace etna::bench

#include "core/kernels/operations/mamba2.hpp"

#include "tests/bench/operations/cases.hpp"

namespace etna::bench {

/// A layer of Granite 4 H Tiny.
void add_mamba2_cases(Cases& cases, const PlanTarget&) {
    constexpr Mamba2Shape shape{.heads = 48, .groups = 1, .head_dim = 64, .state_dim = 128};
    cases.push_back({"mamba2", [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         mamba2({library, recorder},
                                {.sequences = one_sequence(space),
                                 .shape = shape,
                                 .xbc = activations(space, shape.xbc_columns()),
                                 .dt = activations(space, shape.heads),
                                 .decay = space.take(),
                                 .dt_bias = space.take(),
                                 .skip = space.take(),
                                 .states = {.states = space.take(), .pending = space.take(), .slots = 1},
                                 .output = activations(space, shape.output_columns())});
                     }});
}

} // namespace etna::bench

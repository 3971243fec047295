#include "core/kernels/operations/delta_net.hpp"

#include "tests/bench/operations/cases.hpp"

namespace etna::bench {

/// Qwen3.5-35B-A3B's layer.
void add_delta_net_cases(Cases& cases, const PlanTarget&) {
    constexpr DeltaShape shape{.key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128};
    cases.push_back({"delta_net", [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         delta_net({library, recorder},
                                   {.sequences = one_sequence(space),
                                    .shape = shape,
                                    .qkv = activations(space, shape.qkv_columns()),
                                    .a = {.rows = activations(space, shape.value_heads)},
                                    .b = {.rows = activations(space, shape.value_heads)},
                                    .decay = space.take(),
                                    .dt_bias = space.take(),
                                    .states = {.states = space.take(), .pending = space.take(), .slots = 1},
                                    .output = activations(space, shape.output_columns())});
                     }});
}

} // namespace etna::bench

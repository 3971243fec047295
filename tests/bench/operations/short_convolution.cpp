#include "core/kernels/operations/short_convolution.hpp"

#include "tests/bench/operations/cases.hpp"

namespace etna::bench {

/// Qwen3.5-35B-A3B's layer.
void add_short_convolution_cases(Cases& cases, const PlanTarget&) {
    constexpr uint32_t channels = 8192;
    cases.push_back({"short_convolution", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         short_convolution({library, recorder},
                                           {.sequences = one_sequence(space),
                                            .input = activations(space, channels),
                                            .output = activations(space, channels),
                                            .weight = space.take(),
                                            .ring = {.range = space.take(), .slots = 1, .length = 16}});
                     }});
}

} // namespace etna::bench

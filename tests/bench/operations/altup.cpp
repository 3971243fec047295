#include "core/kernels/operations/altup.hpp"

#include "tests/bench/operations/cases.hpp"

namespace etna::bench {

/// Gemma 3n's.
void add_altup_cases(Cases& cases, const PlanTarget&) {
    cases.push_back({"altup", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         const AltUp operation{.active = activations(space, width),
                                               .streams = activations(space, width),
                                               .prediction = activations(space, width),
                                               .count = 1,
                                               .inputs = 4,
                                               .router = space.take(),
                                               .norm = space.take(),
                                               .coefficients = space.take()};
                         altup_predict({library, recorder}, operation);
                         altup_correct({library, recorder}, operation, space.take(),
                                       activations(space, width));
                     }});
}

void add_match_rms_cases(Cases& cases, const PlanTarget&) {
    cases.push_back({"match_rms", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         match_rms({library, recorder}, {.input = activations(space, width),
                                                         .target = activations(space, width),
                                                         .output = activations(space, width),
                                                         .count = 1});
                     }});
}

void add_statistical_top_k_cases(Cases& cases, const PlanTarget&) {
    cases.push_back({"statistical_top_k", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         statistical_top_k({library, recorder},
                                           {.values = activations(space, width), .count = 1});
                     }});
}

} // namespace etna::bench

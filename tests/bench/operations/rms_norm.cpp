#include "core/kernels/operations/rms_norm.hpp"

#include "tests/bench/operations/cases.hpp"

namespace etna::bench {

void add_rms_norm_cases(Cases& cases, const PlanTarget& target) {
    for (const bool halves : {false, true}) {
        if (halves && !reads_halves(target, width))
            continue;
        cases.push_back(
            {halves ? "rms_norm, halves" : "rms_norm", [=](Library& library, vk::Recorder& recorder) {
                 Space space;
                 rms_norm({library, recorder}, {.input = activations(space, width),
                                                .output = activations(space, width),
                                                .weight = space.take(),
                                                .count = 1,
                                                .halves = halves});
             }});
    }
}

} // namespace etna::bench

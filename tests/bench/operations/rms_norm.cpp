#include "core/kernels/operations/rms_norm.hpp"

#include "tests/bench/operations/cases.hpp"

namespace etna::bench {

void add_rms_norm_cases(Cases& cases, const PlanTarget& target) {
    for (const bool packed : {false, true}) {
        if (packed && !reads_packed(target, width))
            continue;
        cases.push_back(
            {packed ? "rms_norm, packed" : "rms_norm", [=](Library& library, vk::Recorder& recorder) {
                 Space space;
                 rms_norm({library, recorder},
                          {.input = activations(space, width),
                           .output = activations(space, width),
                           .weight = space.take(),
                           .count = 1,
                           .packs = packed ? std::optional(PackedForm::blocks) : std::nullopt});
             }});
    }
}

} // namespace etna::bench

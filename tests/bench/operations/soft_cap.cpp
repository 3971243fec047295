#include "core/kernels/operations/soft_cap.hpp"

#include "tests/bench/operations/cases.hpp"

namespace etna::bench {

void add_soft_cap_cases(Cases& cases, const PlanTarget&) {
    cases.push_back({"soft_cap", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         soft_cap({library, recorder},
                                  {.values = activations(space, width), .count = 1, .cap = 30});
                     }});
}

} // namespace etna::bench

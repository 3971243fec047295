#include "core/kernels/operations/halve.hpp"

#include "tests/bench/operations/cases.hpp"

namespace etna::bench {

void add_halve_cases(Cases& cases, const PlanTarget& target) {
    if (!reads_halves(target, width))
        return;
    cases.push_back({"halve", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         halve({library, recorder}, {.rows = activations(space, width), .count = 1});
                     }});
}

} // namespace etna::bench

#include "core/kernels/operations/pack.hpp"

#include "tests/bench/operations/cases.hpp"

namespace etna::bench {

void add_pack_cases(Cases& cases, const PlanTarget& target) {
    if (!reads_packed(target, width))
        return;
    cases.push_back({"pack", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         pack({library, recorder}, {.rows = activations(space, width), .count = 1});
                     }});
}

} // namespace etna::bench

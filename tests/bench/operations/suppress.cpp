#include "core/kernels/operations/suppress.hpp"

#include "tests/bench/operations/cases.hpp"

#include <array>

namespace etna::bench {

void add_suppress_cases(Cases& cases, const PlanTarget&) {
    cases.push_back({"suppress", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         constexpr std::array<uint32_t, 2> ids{5, 6};
                         suppress({library, recorder},
                                  {.logits = activations(space, width), .count = 1, .ids = ids});
                     }});
}

} // namespace etna::bench

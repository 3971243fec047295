#include "core/kernels/operations/sample.hpp"

#include "tests/bench/operations/cases.hpp"

namespace etna::bench {
namespace {

Sample sample_of(Space& space) {
    return {.logits = activations(space, 32000),
            .count = 1,
            .infos = space.take(),
            .slots = space.take(),
            .partials = space.take(),
            .results = space.take()};
}

} // namespace

void add_sample_partial_cases(Cases& cases, const PlanTarget&) {
    cases.push_back({"sample_partial", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         sample_partial({library, recorder}, sample_of(space));
                     }});
}

void add_sample_finish_cases(Cases& cases, const PlanTarget&) {
    cases.push_back({"sample_finish", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         sample_finish({library, recorder}, sample_of(space));
                     }});
}

} // namespace etna::bench

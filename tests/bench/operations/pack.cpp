#include "core/kernels/operations/pack.hpp"

#include "core/kernels/operations/sum_parts.hpp"
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

void add_pack_f16_cases(Cases& cases, const PlanTarget& target) {
    if (!reads_packed(target, width))
        return;
    cases.push_back(
        {"pack_f16", [](Library& library, vk::Recorder& recorder) {
             Space space;
             pack({library, recorder},
                  {.rows = activations(space, width), .form = PackedForm::f16, .count = batch_rows_max});
         }});
}

void add_sum_parts_cases(Cases& cases, const PlanTarget& target) {
    if (!reads_packed(target, width))
        return;
    cases.push_back({"sum_parts", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         const StackedMatrix one{.weight = {.layout = {}, .rows = width, .columns = width},
                                                 .output = activations(space, width)};
                         sum_parts({library, recorder}, {.parts = space.take(),
                                                         .splits = 2,
                                                         .matrices = std::span(&one, 1),
                                                         .input = activations(space, width),
                                                         .count = batch_rows_max});
                     }});
}

} // namespace etna::bench

#include "core/kernels/operations/linear.hpp"

#include "tests/bench/operations/cases.hpp"

#include <fmt/format.h>

namespace etna::bench {
namespace {

void add_linear(Cases& cases, Layout layout, uint32_t rows, RowPath path, uint32_t count) {
    cases.push_back({fmt::format("linear {} {}, {} rows, {} {} columns", to_string(layout.format),
                                 to_string(layout.arrangement), rows, count, to_string(path)),
                     [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         linear({library, recorder}, {.weight = matrix(space, layout, rows),
                                                      .input = activations(space, width),
                                                      .output = activations(space, rows),
                                                      .count = count,
                                                      .path = path,
                                                      .parts = space.take()});
                     }});
}

/// q, k and v of a layer with few kv heads.
void add_linear_stack(Cases& cases, Layout layout, RowPath path, uint32_t count) {
    cases.push_back(
        {fmt::format("linear_stack {}, {} {} columns", to_string(layout.format), count, to_string(path)),
         [=](Library& library, vk::Recorder& recorder) {
             Space space;
             std::vector<StackedMatrix> matrices;
             for (const uint32_t rows : {width, width / 4, width / 4})
                 matrices.push_back(
                     {.weight = matrix(space, layout, rows), .output = activations(space, rows)});
             LinearStack stack{.matrices = matrices,
                               .input = activations(space, width),
                               .count = count,
                               .path = path,
                               .parts = space.take()};
             if (path == RowPath::decode)
                 stack.norm = PendingNorm{.squares = space.take()};
             linear_stack({library, recorder}, stack);
         }});
}

} // namespace

void add_linear_cases(Cases& cases, const PlanTarget& target) {
    for (const Layout layout : possible_layouts(target)) {
        for (const uint32_t rows : {1024U, width}) { // few and many, as linear_plan sees them
            for (const uint32_t count : {1U, 2U, 4U, 8U})
                add_linear(cases, layout, rows, RowPath::decode, count);
            add_linear(cases, layout, rows, RowPath::prefill, batch_rows_max);
        }
        if (layout.arrangement != Arrangement::tiles)
            continue;
        for (const uint32_t count : {batch_rows_max, 2 * batch_rows_max}) // the largest tiles of sums
            add_linear(cases, layout, 4 * width, RowPath::prefill, count);
        add_linear_stack(cases, layout, RowPath::decode, 1);
        if (prompts_read_packed(target))
            add_linear_stack(cases, layout, RowPath::prefill, 2 * batch_rows_max);
    }
}

} // namespace etna::bench

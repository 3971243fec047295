#include "core/kernels/operations/heads_product.hpp"

#include "tests/bench/operations/cases.hpp"

#include <fmt/format.h>

namespace etna::bench {
namespace {

/// DeepSeek-V3's key up-projections.
void add_heads_product(Cases& cases, Layout layout, uint32_t rows) {
    cases.push_back(
        {fmt::format("heads_product {} {}, {} rows", to_string(layout.format), to_string(layout.arrangement),
                     rows),
         [=](Library& library, vk::Recorder& recorder) {
             Space space;
             constexpr uint32_t heads = 128;
             Matrix one = matrix(space, layout, 512);
             one.columns = 128;
             if (one.columns % block_columns(layout.format) != 0)
                 one.columns = 256;
             heads_product(
                 {library, recorder},
                 {.weights = {.matrices = one, .count = heads},
                  .input = {.rows = activations(space, heads * (one.columns + 64)),
                            .head_dim = one.columns + 64,
                            .columns = one.columns},
                  .output = {.rows = activations(space, heads * 576), .head_dim = 576, .columns = one.rows},
                  .count = rows});
         }});
}

} // namespace

void add_heads_product_cases(Cases& cases, const PlanTarget& target) {
    for (const Layout layout : possible_layouts(target)) {
        if (layout.arrangement == Arrangement::tiles)
            continue;
        for (const uint32_t rows : {1U, 2U, 4U, 8U})
            add_heads_product(cases, layout, rows);
    }
}

} // namespace etna::bench

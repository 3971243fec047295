#include "core/kernels/operations/experts.hpp"

#include "core/kernels/operations/expert_matrix.hpp"
#include "tests/bench/operations/cases.hpp"

#include <fmt/format.h>

namespace etna::bench {
namespace {

ExpertRouting expert_choice(Space& space, uint32_t rows) {
    return {.experts = space.take(),
            .routing_weights = space.take(),
            .count = 8,
            .experts_per_token = 2,
            .rows = rows};
}

void add_expert_linear(Cases& cases, Layout layout, uint32_t rows) {
    cases.push_back({fmt::format("expert_linear {} {}, {} rows", to_string(layout.format),
                                 to_string(layout.arrangement), rows),
                     [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         const ExpertRouting choice = expert_choice(space, rows);
                         expert_linear(
                             {library, recorder},
                             {.weights = {.matrices = matrix(space, layout, width), .count = choice.count},
                              .input = activations(space, width),
                              .output = activations(space, width),
                              .choice = choice,
                              .groups = ExpertGroups{.range = space.take(),
                                                     .tile_pairs = expert_tile_pairs(
                                                         choice.pairs(), choice.count, layout.arrangement)}});
                     }});
}

/// Down, then gate and up, also with gpt-oss's gate: tiles of few pairs and of many.
void add_expert_matrix(Cases& cases, Layout layout, uint32_t rows) {
    cases.push_back(
        {fmt::format("expert_matrix {}, {} rows", to_string(layout.format), rows),
         [=](Library& library, vk::Recorder& recorder) {
             Space space;
             const ExpertRouting choice = expert_choice(space, rows);
             const MatrixStack stack{.matrices = matrix(space, layout, width), .count = choice.count};
             ExpertMatrix operation{
                 .weights = stack,
                 .input = activations(space, width),
                 .output = activations(space, width),
                 .reads = ExpertInput::pair,
                 .choice = choice,
                 .groups = {.range = space.take(),
                            .tile_pairs = unit_tile_pairs(library.target(), choice.pairs(), choice.count)}};
             expert_matrix({library, recorder}, operation);
             operation.reads = ExpertInput::row;
             operation.up = stack;
             expert_matrix({library, recorder}, operation);
             operation.kind = Gate::clamped_silu;
             operation.biases = GateBiases{.gate = space.take(),
                                           .up = space.take(),
                                           .experts = choice.experts,
                                           .expert_count = choice.count};
             expert_matrix({library, recorder}, operation);
         }});
}

/// Qwen3-30B-A3B's, and with biases gpt-oss's gate.
void add_expert_gate_up(Cases& cases, Layout layout, uint32_t rows) {
    cases.push_back(
        {fmt::format("expert_gate_up {}, {} rows", to_string(layout.format), rows),
         [=](Library& library, vk::Recorder& recorder) {
             Space space;
             const ExpertRouting choice = expert_choice(space, rows);
             const MatrixStack stack{.matrices = matrix(space, layout, width), .count = choice.count};
             ExpertGateUp operation{.gate = stack,
                                    .up = stack,
                                    .input = activations(space, width),
                                    .output = activations(space, width),
                                    .packed = true,
                                    .counters = space.take(),
                                    .choice = choice};
             if (rows > 1) {
                 operation.groups = ExpertGroups{
                     .range = space.take(),
                     .tile_pairs = expert_tile_pairs(choice.pairs(), choice.count, layout.arrangement)};
             }
             expert_gate_up({library, recorder}, operation);
             operation.kind = Gate::clamped_silu;
             operation.biases = GateBiases{.gate = space.take(),
                                           .up = space.take(),
                                           .experts = choice.experts,
                                           .expert_count = choice.count};
             expert_gate_up({library, recorder}, operation);
         }});
}

void add_expert_down(Cases& cases, Layout layout) {
    cases.push_back({fmt::format("expert_down {}", to_string(layout.format)),
                     [=](Library& library, vk::Recorder& recorder) {
                         Space space;
                         const ExpertRouting choice = expert_choice(space, 1);
                         ExpertDown operation{
                             .weights = {.matrices = matrix(space, layout, width), .count = choice.count},
                             .input = activations(space, width),
                             .output = activations(space, width),
                             .choice = choice};
                         expert_down({library, recorder}, operation);
                         operation.bias = space.take();
                         expert_down({library, recorder}, operation);
                     }});
}

} // namespace

void add_expert_linear_cases(Cases& cases, const PlanTarget& target) {
    for (const Layout layout : possible_layouts(target)) {
        for (const uint32_t rows : {4U, 8U, 16U, 32U}) // 1, 2, 4, 8 pairs for each of 8 experts
            add_expert_linear(cases, layout, rows);
    }
}

void add_expert_gate_up_cases(Cases& cases, const PlanTarget& target) {
    for (const Layout layout : possible_tiles(target)) {
        for (const uint32_t rows : {1U, 4U, 8U, 16U}) // not grouped; 1, 2, 4 pairs
            add_expert_gate_up(cases, layout, rows);
    }
}

void add_expert_down_cases(Cases& cases, const PlanTarget& target) {
    for (const Layout layout : possible_tiles(target))
        add_expert_down(cases, layout);
}

void add_expert_route_cases(Cases& cases, const PlanTarget&) {
    cases.push_back({"expert_route", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         const ExpertRouting choice = expert_choice(space, 1);
                         expert_route({library, recorder},
                                      {.router = activations(space, choice.count), .choice = choice});
                     }});
}

void add_expert_router_cases(Cases& cases, const PlanTarget& target) {
    const Layout layout{};
    if (!expert_router_usable(target, {.layout = layout}))
        return;
    for (const uint32_t rows : {1U, 2U, 4U}) {
        cases.push_back(
            {fmt::format("expert_router, {} rows", rows), [=](Library& library, vk::Recorder& recorder) {
                 Space space;
                 const ExpertRouting choice = expert_choice(space, rows);
                 expert_router({library, recorder}, {.weight = matrix(space, layout, choice.count),
                                                     .input = activations(space, width),
                                                     .router = activations(space, choice.count),
                                                     .choice = choice,
                                                     .counters = space.take()});
             }});
    }
}

void add_expert_group_cases(Cases& cases, const PlanTarget&) {
    cases.push_back({"expert_group", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         expert_group({library, recorder}, expert_choice(space, 1), {.range = space.take()});
                     }});
}

void add_expert_sum_cases(Cases& cases, const PlanTarget&) {
    cases.push_back({"expert_sum", [](Library& library, vk::Recorder& recorder) {
                         Space space;
                         ExpertSum sum{.input = activations(space, width),
                                       .output = activations(space, width),
                                       .choice = expert_choice(space, 1)};
                         expert_sum({library, recorder}, sum);
                         sum.bias = space.take();
                         expert_sum({library, recorder}, sum);
                     }});
}

void add_expert_matrix_cases(Cases& cases, const PlanTarget& target) {
    for (const Layout layout : possible_tiles(target)) {
        if (!experts_on_units(target, layout))
            continue;
        for (const uint32_t rows : {16U, 256U, 512U})
            add_expert_matrix(cases, layout, rows);
    }
}

} // namespace etna::bench

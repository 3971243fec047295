#include "core/kernels/operations/experts.hpp"
#include "core/kernels/operations/uses.hpp"
#include "core/kernels/self_check/kernel_run.hpp"
#include "core/kernels/self_check/noise.hpp"
#include "core/kernels/self_check/weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace etna::kernels {
namespace {

constexpr uint32_t routing_experts = 71;
constexpr uint32_t routing_used = 3;
constexpr uint32_t routing_rows = 5;
constexpr uint32_t pairs = routing_rows * routing_used;

std::vector<uint32_t> words_of(ByteView content) {
    std::vector<uint32_t> words(content.size() / 4);
    std::memcpy(words.data(), content.data(), words.size() * 4);
    return words;
}

/// Whether groups (shaders/experts/groups.glsl) hold every pair once, in tiles of its expert of at most
/// `tile_pairs`.
bool groups_hold(const std::vector<uint32_t>& groups, const std::vector<uint32_t>& chosen,
                 uint32_t tile_pairs) {
    if (groups[0] > pairs)
        return false;
    const uint32_t* order = groups.data() + 1 + std::size_t{3} * pairs;
    std::vector<uint32_t> times(pairs, 0);
    for (uint32_t tile = 0; tile < groups[0]; ++tile) {
        const uint32_t* entry = groups.data() + 1 + std::size_t{3} * tile; // expert, first pair, count
        if (entry[2] == 0 || entry[2] > tile_pairs || entry[1] >= pairs || entry[2] > pairs - entry[1])
            return false;
        for (uint32_t index = entry[1]; index < entry[1] + entry[2]; ++index) {
            const uint32_t pair = order[index];
            if (pair >= pairs || chosen[pair] != entry[0])
                return false;
            ++times[pair];
        }
    }
    return std::all_of(times.begin(), times.end(), [](uint32_t count) { return count == 1; });
}

void make_sum_problem(KernelRun& run, bool with_bias) {
    constexpr uint32_t columns = 131;
    Noise noise(7);
    const std::vector<float> x = noise.numbers(uint64_t{pairs} * columns);
    const std::vector<float> routing_weights = noise.numbers(pairs);
    const std::vector<float> before = noise.numbers(uint64_t{routing_rows} * columns);
    const std::vector<float> bias = noise.numbers(uint64_t{routing_experts} * columns);
    std::vector<uint32_t> chosen(pairs);
    for (uint32_t& expert : chosen)
        expert = noise.bits() % routing_experts;
    std::vector<Bounded> expected;
    for (uint32_t row = 0; row < routing_rows; ++row) {
        for (uint32_t k = 0; k < columns; ++k) {
            double sum = before[row * columns + k];
            double size = std::abs(sum);
            for (uint32_t pair = row * routing_used; pair < (row + 1) * routing_used; ++pair) {
                const double weight = routing_weights[pair];
                const double value = x[pair * columns + k];
                const double added = with_bias ? bias[chosen[pair] * columns + k] : 0;
                sum += weight * (value + added);
                size += std::abs(weight) * (std::abs(value) + std::abs(added));
            }
            expected.push_back({sum, (routing_used + 5) * rounding * size});
        }
    }
    const Activations output = run.put_rows(before, routing_rows, columns);
    ExpertSum operation{.input = run.put_rows(x, pairs, columns),
                        .output = output,
                        .choice = {.experts = run.put(chosen),
                                   .routing_weights = run.put(routing_weights),
                                   .count = routing_experts,
                                   .experts_per_token = routing_used,
                                   .rows = routing_rows}};
    if (with_bias)
        operation.bias = run.put(bias);
    expert_sum({run.library(), run.recorder()}, operation);
    run.expect_rows(output, 0, expected);
}

/// Biases half apart, in random order, so that the largest are certain.
std::vector<float> distinct_biases(Noise& noise) {
    std::vector<float> biases(routing_experts);
    for (uint32_t rank = 0; rank < routing_experts; ++rank)
        biases[rank] = 10 - 0.5F * static_cast<float>(rank);
    for (uint32_t i = routing_experts; i > 1; --i)
        std::swap(biases[i - 1], biases[noise.bits() % i]);
    return biases;
}

/// The choices of a row whose experts are in the order of their router values, and their weights.
void add_choices(const RoutingRule& rule, const std::vector<uint32_t>& order,
                 const std::vector<double>& values, std::vector<uint32_t>& chosen,
                 std::vector<Bounded>& routing_weights) {
    const bool is_softmax = rule.scores == RoutingRule::Scores::softmax;
    const auto score = [&](uint32_t rank) {
        return is_softmax ? std::exp(values[rank] - values[0]) : 1 / (1 + std::exp(-values[rank]));
    };
    double sum = 0;
    for (uint32_t rank = 0; rank < (rule.normalised ? routing_used : routing_experts); ++rank)
        sum += score(rank);
    for (uint32_t rank = 0; rank < routing_used; ++rank) {
        const double share = rule.scale * score(rank) / (is_softmax || rule.normalised ? sum : 1);
        chosen.push_back(order[rank]);
        routing_weights.push_back({share, 256 * rounding * share});
    }
}

void make_router_problem(KernelRun& run, uint32_t rows, RoutingRule rule) {
    constexpr uint32_t columns = 131;
    Noise noise(18);
    const NoiseMatrices weight =
        put_weights(run, noise, {.layout = {}, .rows = routing_experts, .columns = columns});
    std::vector<float> x = noise.numbers(uint64_t{rows} * columns);
    for (float& one : x)
        one *= 0x1p-8F; // products are small against the differences of biases
    const std::vector<float> biases = distinct_biases(noise);
    std::vector<Bounded> logits;
    std::vector<uint32_t> chosen;
    std::vector<Bounded> routing_weights;
    for (uint32_t row = 0; row < rows; ++row) {
        const std::size_t first = logits.size();
        for (uint32_t expert = 0; expert < routing_experts; ++expert) {
            Bounded one = product(weight, expert, std::span(x).subspan(std::size_t{row} * columns, columns));
            one.value += biases[expert];
            one.tolerance += 2 * rounding * std::abs(one.value);
            logits.push_back(one);
        }
        std::vector<uint32_t> order(routing_experts);
        std::iota(order.begin(), order.end(), 0);
        const auto logit = [&](uint32_t expert) { return logits[first + expert].value; };
        std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return logit(a) > logit(b); });
        std::vector<double> scores;
        scores.reserve(order.size());
        for (const uint32_t expert : order)
            scores.push_back(logit(expert));
        add_choices(rule, order, scores, chosen, routing_weights);
    }
    const Activations router = run.put_unset(rows, routing_experts);
    const std::vector<uint32_t> zeros(rows);
    const ExpertRouter operation{.weight = weight.device,
                                 .bias = run.put(biases),
                                 .input = run.put_rows(x, rows, columns),
                                 .router = router,
                                 .choice = {.experts = run.put(std::vector<uint32_t>(chosen.size(), 0xFFFF)),
                                            .routing_weights = run.put(std::vector<float>(chosen.size(), -1)),
                                            .count = routing_experts,
                                            .experts_per_token = routing_used,
                                            .rows = rows},
                                 .rule = rule,
                                 .counters = run.put(zeros)};
    expert_router({run.library(), run.recorder()}, operation);
    run.expect_rows(router, 0, logits);
    run.expect_words(operation.choice.experts, chosen);
    run.expect_numbers(operation.choice.routing_weights, routing_weights);
    run.expect_words(operation.counters, zeros);
}

void make_route_problem(KernelRun& run, RoutingRule rule) {
    Noise noise(6);
    // Scores a quarter apart, in random order, so that the largest are certain.
    std::vector<float> router;
    std::vector<uint32_t> chosen;
    std::vector<Bounded> routing_weights;
    for (uint32_t row = 0; row < routing_rows; ++row) {
        std::vector<uint32_t> order(routing_experts);
        std::iota(order.begin(), order.end(), 0);
        for (uint32_t i = routing_experts; i > 1; --i)
            std::swap(order[i - 1], order[noise.bits() % i]);
        std::vector<float> values(routing_experts);
        std::vector<double> ordered;
        for (uint32_t rank = 0; rank < routing_experts; ++rank) {
            values[order[rank]] = 5 - 0.25F * static_cast<float>(rank);
            ordered.push_back(values[order[rank]]);
        }
        add_choices(rule, order, ordered, chosen, routing_weights);
        router.insert(router.end(), values.begin(), values.end());
    }
    const vk::Range chosen_range = run.put(std::vector<uint32_t>(pairs, routing_experts));
    const vk::Range shares_range = run.put(std::vector<float>(pairs, -1));
    expert_route({run.library(), run.recorder()},
                 {.router = run.put_rows(router, routing_rows, routing_experts),
                  .choice = {.experts = chosen_range,
                             .routing_weights = shares_range,
                             .count = routing_experts,
                             .experts_per_token = routing_used,
                             .rows = routing_rows},
                  .rule = rule});
    run.expect_words(chosen_range, chosen);
    run.expect_numbers(shares_range, routing_weights);
}

/// A selection bias that turns the order of the scores around.
void make_biased_route_problem(KernelRun& run) {
    std::vector<float> router;
    std::vector<float> bias;
    std::vector<uint32_t> chosen;
    std::vector<Bounded> routing_weights;
    for (uint32_t expert = 0; expert < routing_experts; ++expert) {
        router.push_back(2 - 0.0625F * static_cast<float>(expert));
        bias.push_back(static_cast<float>(expert));
    }
    for (uint32_t i = 0; i < routing_used; ++i) {
        chosen.push_back(routing_experts - 1 - i);
        const double score = 1 / (1 + std::exp(-double{router[chosen[i]]}));
        routing_weights.push_back({score, 256 * rounding * score});
    }
    const ExpertRoute operation{
        .router = run.put_rows(router, 1, routing_experts),
        .choice = {.experts = run.put(std::vector<uint32_t>(routing_used, routing_experts)),
                   .routing_weights = run.put(std::vector<float>(routing_used, -1)),
                   .count = routing_experts,
                   .experts_per_token = routing_used,
                   .rows = 1},
        .rule = {
            .scores = RoutingRule::Scores::sigmoid, .normalised = false, .selection_bias = run.put(bias)}};
    expert_route({run.library(), run.recorder()}, operation);
    run.expect_words(operation.choice.experts, chosen);
    run.expect_numbers(operation.choice.routing_weights, routing_weights);
}

/// A row of which the experts of one group alone are chosen.
void make_grouped_route_problem(KernelRun& run, RoutingRule rule, const std::vector<uint32_t>& chosen) {
    const std::vector<float> router{0, 1, 5, -3, 4, 4.5F};
    const auto count = static_cast<uint32_t>(router.size());
    rule.groups = 3;
    rule.groups_used = 1;
    const bool is_softmax = rule.scores == RoutingRule::Scores::softmax;
    const auto score = [&](uint32_t expert) {
        return is_softmax ? std::exp(double{router[expert]}) : 1 / (1 + std::exp(-double{router[expert]}));
    };
    double sum = 0;
    for (uint32_t expert = 0; expert < count; ++expert) {
        const bool counts = !rule.normalised || std::ranges::find(chosen, expert) != chosen.end();
        sum += counts ? score(expert) : 0;
    }
    std::vector<Bounded> routing_weights;
    for (const uint32_t expert : chosen) {
        const double share = score(expert) / sum;
        routing_weights.push_back({share, 256 * rounding * share});
    }
    const auto used = static_cast<uint32_t>(chosen.size());
    const ExpertRoute operation{.router = run.put_rows(router, 1, count),
                                .choice = {.experts = run.put(std::vector<uint32_t>(used, count)),
                                           .routing_weights = run.put(std::vector<float>(used, -1)),
                                           .count = count,
                                           .experts_per_token = used,
                                           .rows = 1},
                                .rule = rule};
    expert_route({run.library(), run.recorder()}, operation);
    run.expect_words(operation.choice.experts, chosen);
    run.expect_numbers(operation.choice.routing_weights, routing_weights);
}

void make_expert_router_problem(KernelRun& run, const KernelUse&) {
    make_router_problem(run, 1, {});
    make_router_problem(run, routing_rows, {.normalised = false});
    make_router_problem(run, routing_rows, {.scores = RoutingRule::Scores::sigmoid, .scale = 2.5F});
}

void make_expert_route_problem(KernelRun& run, const KernelUse&) {
    make_route_problem(run, {});
    make_route_problem(run, {.normalised = false});
    make_route_problem(run, {.scores = RoutingRule::Scores::sigmoid, .scale = 2.5F});
    make_biased_route_problem(run);
    make_grouped_route_problem(run, {}, {2, 3});
    make_grouped_route_problem(run, {.normalised = false}, {2, 3});
    make_grouped_route_problem(run, {.scores = RoutingRule::Scores::sigmoid}, {5, 4});
}

void make_expert_group_problem(KernelRun& run, const KernelUse&) {
    constexpr uint32_t few_experts = 4; // so that some have more than a tile's pairs
    std::vector<uint32_t> chosen;
    for (uint32_t row = 0; row < routing_rows; ++row) {
        for (uint32_t choice = 0; choice < routing_used; ++choice)
            chosen.push_back((row * row + choice) % few_experts);
    }
    const uint32_t tile_pairs = expert_tile_pairs(pairs, few_experts, Arrangement::rows);
    const vk::Range range =
        run.put(std::vector<uint32_t>(expert_group_bytes(routing_rows, routing_used) / 4, 0xFFFFFFFFU));
    expert_group({run.library(), run.recorder()},
                 {.experts = run.put(chosen),
                  .routing_weights = run.put(std::vector<float>(pairs)),
                  .count = few_experts,
                  .experts_per_token = routing_used,
                  .rows = routing_rows},
                 {.range = range, .tile_pairs = tile_pairs});
    run.expect(range, [chosen, tile_pairs](ByteView content) {
        return groups_hold(words_of(content), chosen, tile_pairs);
    });
}

void make_expert_sum_problem(KernelRun& run, const KernelUse&) {
    make_sum_problem(run, false);
    make_sum_problem(run, true);
}

std::vector<KernelUse> expert_router_uses(const PlanTarget& target) {
    if (!expert_router_usable(target, {.layout = exact_layout(target, Format::f32)}))
        return {};
    return {{.operation = &expert_router_operation, .variant = reduced(target, shaders::expert_router)}};
}

} // namespace

const Operation expert_route_operation{
    .name = "expert_route",
    .uses =
        [](const PlanTarget& target) {
            return one_use(expert_route_operation, reduced(target, shaders::expert_route));
        },
    .make_problem = make_expert_route_problem,
};

const Operation expert_router_operation{
    .name = "expert_router",
    .uses = expert_router_uses,
    .make_problem = make_expert_router_problem,
};

const Operation expert_group_operation{
    .name = "expert_group",
    .uses = [](const PlanTarget&) { return one_use(expert_group_operation, shaders::expert_group()); },
    .make_problem = make_expert_group_problem,
};

const Operation expert_sum_operation{
    .name = "expert_sum",
    .uses = [](const PlanTarget&) { return one_use(expert_sum_operation, shaders::expert_sum()); },
    .make_problem = make_expert_sum_problem,
};

} // namespace etna::kernels

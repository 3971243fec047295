#include "tests/reference/sampling.hpp"

#include <cassert>
#include <cmath>

namespace etna::reference {
namespace {

void normalise(std::vector<Choice>& choices) {
    double sum = 0;
    for (const Choice& choice : choices)
        sum += choice.probability;
    for (Choice& choice : choices)
        choice.probability /= sum;
}

void keep_top_k(std::vector<Choice>& choices, uint32_t top_k) {
    if (top_k != 0 && top_k < choices.size())
        choices.resize(top_k);
    normalise(choices);
}

// The smallest set of most likely tokens whose probabilities sum to at least top_p.
void keep_top_p(std::vector<Choice>& choices, double top_p) {
    if (top_p >= 1)
        return;
    double sum = 0;
    std::size_t kept = 0;
    while (kept < choices.size() && (kept == 0 || sum < top_p))
        sum += choices[kept++].probability;
    choices.resize(kept);
    normalise(choices);
}

void keep_min_p(std::vector<Choice>& choices, double min_p) {
    const double threshold = min_p * choices.front().probability;
    std::erase_if(choices, [=](const Choice& choice) { return choice.probability < threshold; });
    normalise(choices);
}

void apply_temperature(std::vector<Choice>& choices, double temperature) {
    const double largest =
        choices.front().probability; // dividing by it first keeps tiny temperatures in range
    for (Choice& choice : choices)
        choice.probability = std::pow(choice.probability / largest, 1 / temperature);
    normalise(choices);
}

} // namespace

std::vector<Choice> distribution(View logits, const sampling::Parameters& parameters) {
    assert(!logits.empty());
    if (parameters.temperature == 0)
        return {{.token = greedy_token(logits), .probability = 1}};
    const double total = log_sum_exp(logits);
    std::vector<Choice> choices;
    for (const Candidate& candidate : top_candidates(logits, logits.size()))
        choices.push_back({.token = candidate.token, .probability = std::exp(candidate.logit - total)});
    keep_top_k(choices, parameters.top_k);
    keep_top_p(choices, parameters.top_p);
    keep_min_p(choices, parameters.min_p);
    apply_temperature(choices, parameters.temperature);
    return choices;
}

TokenId draw(std::span<const Choice> choices, double uniform) {
    assert(!choices.empty());
    double sum = 0;
    for (const Choice& choice : choices) {
        sum += choice.probability;
        if (sum > uniform)
            return choice.token;
    }
    return choices.back().token;
}

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
    constexpr int rounds = 10;
    constexpr uint64_t first_multiplier = 0xD2511F53;
    constexpr uint64_t second_multiplier = 0xCD9E8D57;
    constexpr uint32_t first_key_step = 0x9E3779B9;  // golden ratio
    constexpr uint32_t second_key_step = 0xBB67AE85; // sqrt(3) - 1
    for (int round = 0; round < rounds; ++round) {
        const uint64_t a = first_multiplier * counter[0];
        const uint64_t b = second_multiplier * counter[2];
        counter = {static_cast<uint32_t>(b >> 32U) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
                   static_cast<uint32_t>(a >> 32U) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
        key[0] += first_key_step;
        key[1] += second_key_step;
    }
    return counter;
}

double uniform(uint32_t seed, uint32_t position) {
    return std::ldexp(philox4x32_10({position, 0, 0, 0}, {seed, 0})[0] >> 8U, -24);
}

} // namespace etna::reference

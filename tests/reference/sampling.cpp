#include "tests/reference/sampling.hpp"

#include <algorithm>
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

std::size_t at_least(std::size_t count, uint32_t min_keep, const std::vector<Choice>& choices) {
    return std::min(std::max<std::size_t>(count, min_keep), choices.size());
}

// Logits not further than n standard deviations below the largest; all are finite.
void keep_top_n_sigma(std::vector<Candidate>& candidates, double n, uint32_t min_keep) {
    if (n == 0)
        return;
    const auto count = static_cast<double>(candidates.size());
    double mean = 0;
    for (const Candidate& candidate : candidates)
        mean += candidate.logit / count;
    double variance = 0;
    for (const Candidate& candidate : candidates)
        variance += std::pow(candidate.logit - mean, 2) / count;
    const double logit_min = candidates.front().logit - n * std::sqrt(variance);
    while (candidates.back().logit < logit_min && candidates.size() > min_keep)
        candidates.pop_back();
}

void keep_top_k(std::vector<Choice>& choices, uint32_t top_k, uint32_t min_keep) {
    if (top_k != 0 && top_k < choices.size())
        choices.resize(at_least(top_k, min_keep, choices));
    normalise(choices);
}

// By ascending distance of surprise from entropy, the smallest set with at least the probability.
void keep_typical(std::vector<Choice>& choices, double typical_p, uint32_t min_keep) {
    if (typical_p >= 1)
        return;
    double entropy = 0;
    for (const Choice& choice : choices)
        entropy -= choice.probability > 0 ? choice.probability * std::log(choice.probability) : 0;
    const auto distance = [&](const Choice& choice) {
        return std::abs(-std::log(choice.probability) - entropy);
    };
    std::vector<bool> is_kept(choices.size());
    double sum = 0;
    for (std::size_t count = 0; count < choices.size() && (sum < typical_p || count < min_keep); ++count) {
        std::size_t next = choices.size();
        for (std::size_t i = 0; i < choices.size(); ++i) {
            if (!is_kept[i] && (next == choices.size() || distance(choices[i]) < distance(choices[next])))
                next = i;
        }
        is_kept[next] = true;
        sum += choices[next].probability;
    }
    std::vector<Choice> left;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        if (is_kept[i])
            left.push_back(choices[i]);
    }
    choices = left;
    normalise(choices);
}

// The smallest set of most likely tokens whose probabilities sum to at least top_p.
void keep_top_p(std::vector<Choice>& choices, double top_p, uint32_t min_keep) {
    if (top_p >= 1)
        return;
    double sum = 0;
    std::size_t count = 0;
    while (count < choices.size() && (count == 0 || sum < top_p))
        sum += choices[count++].probability;
    choices.resize(at_least(count, min_keep, choices));
    normalise(choices);
}

void keep_min_p(std::vector<Choice>& choices, double min_p, uint32_t min_keep) {
    const double threshold = min_p * choices.front().probability;
    while (choices.back().probability < threshold && choices.size() > min_keep)
        choices.pop_back();
    normalise(choices);
}

// Of the choices with at least the threshold, only the least likely stays.
void exclude_top_choices(std::vector<Choice>& choices, double threshold, uint32_t min_keep) {
    std::vector<Choice> left;
    for (std::size_t i = 0; i < choices.size(); ++i) {
        const bool next_is_top = i + 1 < choices.size() && choices[i + 1].probability >= threshold;
        if (!next_is_top)
            left.push_back(choices[i]);
    }
    if (left.size() < min_keep)
        return;
    choices = left;
    normalise(choices);
}

void apply_temperature(std::vector<Choice>& choices, double temperature) {
    const double largest =
        choices.front().probability; // dividing by it first prevents overflow at tiny temperatures
    for (Choice& choice : choices)
        choice.probability = std::pow(choice.probability / largest, 1 / temperature);
    normalise(choices);
}

} // namespace

std::vector<Choice> distribution(View logits, const sampling::Parameters& parameters, Xtc xtc) {
    assert(!logits.empty());
    if (parameters.temperature == 0)
        return {{.token = greedy_token(logits), .probability = 1}};
    std::vector<Candidate> candidates = top_candidates(logits, logits.size());
    std::erase_if(candidates, [](const Candidate& candidate) { return std::isinf(candidate.logit); });
    keep_top_n_sigma(candidates, parameters.top_n_sigma, parameters.min_keep);
    const double total = log_sum_exp(logits);
    std::vector<Choice> choices;
    choices.reserve(candidates.size());
    for (const Candidate& candidate : candidates)
        choices.push_back({.token = candidate.token, .probability = std::exp(candidate.logit - total)});
    keep_top_k(choices, parameters.top_k, parameters.min_keep);
    keep_typical(choices, parameters.typical_p, parameters.min_keep);
    keep_top_p(choices, parameters.top_p, parameters.min_keep);
    keep_min_p(choices, parameters.min_p, parameters.min_keep);
    if (xtc == Xtc::strikes)
        exclude_top_choices(choices, parameters.xtc_threshold, parameters.min_keep);
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

Xtc xtc_at(const sampling::Parameters& parameters, uint32_t position) {
    const double number = std::ldexp(philox4x32_10({position, 0, 0, 0}, {parameters.seed, 0})[1] >> 8U, -24);
    return number < parameters.xtc_probability ? Xtc::strikes : Xtc::spares;
}

} // namespace etna::reference

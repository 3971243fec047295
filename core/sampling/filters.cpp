#include "core/sampling/filters.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace etna::sampling {

std::size_t count_within_sigmas(std::span<const float> logits, double n, std::size_t min_keep) {
    if (n == 0)
        return logits.size();
    std::size_t count = 0;
    double sum = 0;
    double largest = -std::numeric_limits<double>::infinity();
    for (const float logit : logits) {
        if (std::isinf(logit))
            continue;
        ++count;
        sum += logit;
        largest = std::max<double>(largest, logit);
    }
    const double mean = sum / static_cast<double>(count);
    double squares = 0;
    for (const float logit : logits)
        squares += std::isinf(logit) ? 0 : (logit - mean) * (logit - mean);
    const double logit_min = largest - n * std::sqrt(squares / static_cast<double>(count));
    const auto within = std::count_if(logits.begin(), logits.end(),
                                      [&](float logit) { return logit >= logit_min && !std::isinf(logit); });
    return std::max(static_cast<std::size_t>(within), std::min(min_keep, logits.size()));
}

void keep_typical(std::vector<Candidate>& candidates, double typical_p, std::size_t min_keep,
                  std::vector<std::pair<double, uint32_t>>& scratch) {
    if (typical_p >= 1)
        return;
    const double largest = candidates.front().logit;
    double total = 0;
    for (const Candidate& candidate : candidates)
        total += std::exp(candidate.logit - largest);
    const double log_total = std::log(total);
    const auto log_probability = [&](const Candidate& one) { return one.logit - largest - log_total; };
    double entropy = 0;
    for (const Candidate& candidate : candidates) {
        const double log_p = log_probability(candidate);
        entropy -= std::exp(log_p) * log_p;
    }
    scratch.clear();
    for (uint32_t rank = 0; rank < candidates.size(); ++rank)
        scratch.emplace_back(std::abs(entropy + log_probability(candidates[rank])), rank);
    std::sort(scratch.begin(), scratch.end());
    double sum = 0;
    std::size_t kept = 0;
    while (kept < scratch.size() && (sum < typical_p || kept < std::max<std::size_t>(min_keep, 1)))
        sum += std::exp(log_probability(candidates[scratch[kept++].second]));
    scratch.resize(kept);
    std::sort(scratch.begin(), scratch.end(),
              [](const auto& a, const auto& b) { return a.second < b.second; });
    for (std::size_t i = 0; i < kept; ++i)
        candidates[i] = candidates[scratch[i].second]; // ranks ascend: i never exceeds the rank that is read
    candidates.resize(kept);
}

std::size_t count_within_top_p(std::span<const Candidate> candidates, double top_p, std::size_t min_keep) {
    if (top_p >= 1)
        return candidates.size();
    const double largest = candidates.front().logit;
    double total = 0;
    for (const Candidate& candidate : candidates)
        total += std::exp(candidate.logit - largest);
    double sum = 0;
    std::size_t count = 0;
    while (count < candidates.size() && sum < top_p * total)
        sum += std::exp(candidates[count++].logit - largest);
    return std::min(std::max({count, min_keep, std::size_t{1}}), candidates.size());
}

std::size_t count_within_min_p(std::span<const Candidate> candidates, double min_p, std::size_t min_keep) {
    const double largest = candidates.front().logit;
    std::size_t count = 1;
    while (count < candidates.size() &&
           (count < min_keep || std::exp(candidates[count].logit - largest) >= min_p))
        ++count;
    return count;
}

std::size_t count_top_choices(std::span<const Candidate> candidates, double threshold, std::size_t min_keep) {
    const double largest = candidates.front().logit;
    double total = 0;
    for (const Candidate& candidate : candidates)
        total += std::exp(candidate.logit - largest);
    std::size_t above = 0;
    while (above < candidates.size() && std::exp(candidates[above].logit - largest) >= threshold * total)
        ++above;
    const std::size_t excluded = above > 1 ? above - 1 : 0;
    return candidates.size() - excluded >= min_keep ? excluded : 0;
}

std::size_t draw(std::span<const Candidate> candidates, double temperature, double number) {
    const double largest = candidates.front().logit;
    const auto weight = [&](const Candidate& candidate) {
        return std::exp((candidate.logit - largest) / temperature);
    };
    double total = 0;
    for (const Candidate& candidate : candidates)
        total += weight(candidate);
    double sum = 0;
    std::size_t last_possible = 0; // returned if rounding ends the loop without a hit
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const double one = weight(candidates[i]);
        sum += one;
        if (sum > number * total)
            return i;
        if (one > 0)
            last_possible = i;
    }
    return last_possible;
}

} // namespace etna::sampling

#include "core/sampling/filters.hpp"

#include <algorithm>
#include <cmath>

namespace etna::sampling {

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

} // namespace etna::sampling

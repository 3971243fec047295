#include "core/sampling/filters.hpp"

#include <algorithm>
#include <cmath>

namespace etna::sampling {

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

} // namespace etna::sampling

#include "core/sampling/filters.hpp"

#include <cmath>

namespace etna::sampling {

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

} // namespace etna::sampling

#include "core/sampling/filters.hpp"

#include <cmath>

namespace etna::sampling {

std::size_t count_within_min_p(std::span<const Candidate> candidates, double min_p, std::size_t min_keep) {
    const double largest = candidates.front().logit;
    std::size_t count = 1;
    while (count < candidates.size() &&
           (count < min_keep || std::exp(candidates[count].logit - largest) >= min_p))
        ++count;
    return count;
}

} // namespace etna::sampling

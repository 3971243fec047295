#include "core/sampling/filters.hpp"

#include <cmath>

namespace etna::sampling {

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

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
    const double least = largest - n * std::sqrt(squares / static_cast<double>(count));
    const auto within = std::count_if(logits.begin(), logits.end(),
                                      [&](float logit) { return logit >= least && !std::isinf(logit); });
    return std::max(static_cast<std::size_t>(within), std::min(min_keep, logits.size()));
}

} // namespace etna::sampling

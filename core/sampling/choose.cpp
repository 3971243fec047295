#include "core/sampling/choose.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace etna::sampling {

Result<Choice> choose(const Parameters& parameters, std::span<const float> logits, uint32_t position) {
    return Sampler().choose(parameters, logits, position);
}

Result<Choice> choose(const Parameters& parameters, std::span<const Candidate> candidates,
                      uint32_t position) {
    return Sampler().choose(parameters, candidates, position);
}

double log_sum_exp(std::span<const float> logits) {
    double largest = -std::numeric_limits<double>::infinity();
    for (const float logit : logits) {
        if (std::isnan(logit))
            return std::numeric_limits<double>::quiet_NaN();
        largest = std::max<double>(largest, logit);
    }
    if (std::isinf(largest))
        return largest;
    double sum = 0;
    for (const float logit : logits)
        sum += std::exp(logit - largest);
    return largest + std::log(sum);
}

} // namespace etna::sampling

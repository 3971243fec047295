#include "core/sampling/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace etna::sampling {

void find_top(std::span<const float> logits, std::size_t count, std::vector<Candidate>& out) {
    out.clear();
    count = std::min(count, logits.size());
    if (count == 0)
        return;
    const auto middle = [&] { return out.begin() + static_cast<std::ptrdiff_t>(count - 1); };
    bool is_full = false; // then out[count - 1] ranks last of the best `count` so far; lower ones are skipped
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const Candidate candidate{static_cast<TokenId>(i), logits[i]};
        if (std::isinf(candidate.logit) || (is_full && !comes_before(candidate, out[count - 1])))
            continue;
        out.push_back(candidate);
        if (out.size() < 2 * count)
            continue;
        std::nth_element(out.begin(), middle(), out.end(), comes_before);
        out.resize(count);
        is_full = true;
    }
    if (out.size() > count) {
        std::nth_element(out.begin(), middle(), out.end(), comes_before);
        out.resize(count);
    }
    std::sort(out.begin(), out.end(), comes_before);
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

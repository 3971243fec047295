#include "core/sampling/top.hpp"

#include <algorithm>
#include <cmath>

namespace etna::sampling {

void find_top(std::span<const float> logits, std::size_t count, std::vector<Candidate>& out) {
    out.clear();
    count = std::min(count, logits.size());
    if (count == 0)
        return;
    const auto middle = [&] { return out.begin() + static_cast<std::ptrdiff_t>(count - 1); };
    bool is_full = false; // then out[count - 1] is the last of `count` found, and candidates after it
                          // are dropped
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

} // namespace etna::sampling

#include "core/sampling/choose.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <fmt/format.h>

namespace etna::sampling {
namespace {

bool before(const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

/// Every logit must be a number below +infinity, and one at least must be finite.
Status check_logit(TokenId token, float logit) {
    if (std::isnan(logit) || logit == std::numeric_limits<float>::infinity())
        return Error{ErrorKind::internal, fmt::format("the logit of token {} is {}", token, logit)};
    return {};
}

Error nothing_to_choose() {
    return {ErrorKind::internal, "no token has a finite logit"};
}

/// Length of the shortest head of `sorted` that has at least the share top_p of its probability.
std::size_t count_within_top_p(std::span<const Candidate> sorted, double top_p) {
    if (top_p >= 1)
        return sorted.size();
    const double largest = sorted.front().logit;
    double total = 0;
    for (const Candidate& candidate : sorted)
        total += std::exp(candidate.logit - largest);
    double sum = 0;
    std::size_t count = 0;
    while (count < sorted.size() && sum < top_p * total)
        sum += std::exp(sorted[count++].logit - largest);
    return std::max<std::size_t>(count, 1);
}

std::size_t count_within_min_p(std::span<const Candidate> sorted, double min_p) {
    const double largest = sorted.front().logit;
    std::size_t count = 1;
    while (count < sorted.size() && std::exp(sorted[count].logit - largest) >= min_p)
        ++count;
    return count;
}

/// The first candidate whose cumulative probability exceeds `number`, after the temperature.
std::size_t draw(std::span<const Candidate> sorted, double temperature, double number) {
    const double largest = sorted.front().logit;
    const auto weight = [&](const Candidate& candidate) {
        return std::exp((candidate.logit - largest) / temperature);
    };
    double total = 0;
    for (const Candidate& candidate : sorted)
        total += weight(candidate);
    double sum = 0;
    std::size_t last_possible = 0; // where rounding ends the loop without a hit
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const double one = weight(sorted[i]);
        sum += one;
        if (sum > number * total)
            return i;
        if (one > 0)
            last_possible = i;
    }
    return last_possible;
}

Choice choose_from_sorted(const Parameters& parameters, std::span<const Candidate> sorted,
                          uint32_t position) {
    if (parameters.temperature > 0) {
        if (parameters.top_k != 0 && parameters.top_k < sorted.size())
            sorted = sorted.first(parameters.top_k);
        sorted = sorted.first(count_within_top_p(sorted, parameters.top_p));
        sorted = sorted.first(count_within_min_p(sorted, parameters.min_p));
        sorted = sorted.subspan(draw(sorted, parameters.temperature, uniform(parameters.seed, position)));
    }
    return {sorted.front().token, sorted.front().logit};
}

} // namespace

Result<Choice> choose(const Parameters& parameters, std::span<const float> logits, uint32_t position) {
    std::vector<Candidate> candidates;
    candidates.reserve(logits.size());
    for (std::size_t i = 0; i < logits.size(); ++i) {
        const auto token = static_cast<TokenId>(i);
        ETNA_CHECK(check_logit(token, logits[i]));
        candidates.push_back({token, logits[i]});
    }
    // Greedy needs the first only; top-k the first k.
    std::size_t wanted = parameters.top_k == 0 ? candidates.size() : parameters.top_k;
    wanted = std::min(parameters.temperature > 0 ? wanted : 1, candidates.size());
    const auto middle = candidates.begin() + static_cast<std::ptrdiff_t>(wanted);
    std::nth_element(candidates.begin(), middle, candidates.end(), before);
    std::sort(candidates.begin(), middle, before);
    return choose(parameters, std::span<const Candidate>(candidates).first(wanted), position);
}

Result<Choice> choose(const Parameters& parameters, std::span<const Candidate> candidates,
                      uint32_t position) {
    for (const Candidate& candidate : candidates)
        ETNA_CHECK(check_logit(candidate.token, candidate.logit));
    if (!std::is_sorted(candidates.begin(), candidates.end(), before))
        return Error{ErrorKind::internal, "the candidates are not sorted"};
    if (candidates.empty() || std::isinf(candidates.front().logit))
        return nothing_to_choose();
    return choose_from_sorted(parameters, candidates, position);
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

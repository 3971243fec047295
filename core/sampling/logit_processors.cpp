#include "core/sampling/logit_processors.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace etna::sampling {
namespace {

/// A changed logit rounded to float: a finite one stays finite, -infinity stays. `value` is not NaN.
float rounded_logit(float before, double value) {
    constexpr double max = std::numeric_limits<float>::max();
    return std::isinf(before) ? before : static_cast<float>(std::clamp(value, -max, max));
}

/// Calls change(logit, count) once for each token of the window, and stores the result.
template <class Change>
void change_counted(std::span<float> logits, std::span<const TokenId> window, std::span<uint32_t> counts,
                    const Change& change) {
    for (const TokenId token : window) {
        if (token < logits.size())
            ++counts[token];
    }
    for (const TokenId token : window) {
        if (token >= logits.size() || counts[token] == 0)
            continue;
        logits[token] = rounded_logit(logits[token], change(double{logits[token]}, counts[token]));
        counts[token] = 0;
    }
}

/// lengths[i] = how many tokens before position n - i equal those at the end of `tokens`, for i in [1, n):
/// the Z function (Gusfield, "Algorithms on Strings, Trees, and Sequences", 1997) of the reversed tokens.
/// Returns the largest.
uint32_t repetition_lengths(std::span<const TokenId> tokens, std::vector<uint32_t>& lengths) {
    const auto count = static_cast<uint32_t>(tokens.size());
    const auto reversed = [&](uint32_t i) { return tokens[count - 1 - i]; };
    lengths.assign(count, 0);
    uint32_t length_max = 0;
    uint32_t left = 0; // [left, right) equals the start, and reaches furthest right
    uint32_t right = 0;
    for (uint32_t i = 1; i < count; ++i) {
        uint32_t length = i < right ? std::min(right - i, lengths[i - left]) : 0;
        while (i + length < count && reversed(length) == reversed(i + length))
            ++length;
        if (i + length > right) {
            left = i;
            right = i + length;
        }
        lengths[i] = length;
        length_max = std::max(length_max, length);
    }
    return length_max;
}

} // namespace

Status check(std::span<const LogitBias> biases, uint32_t vocabulary) {
    for (const LogitBias& one : biases) {
        if (one.token >= vocabulary) {
            return invalid_argument(
                fmt::format("logit_bias names token {}, and the vocabulary has {}", one.token, vocabulary),
                fmt::format("name tokens from 0 to {}", vocabulary - 1));
        }
        if (std::isnan(one.bias) || (std::isinf(one.bias) && one.bias > 0)) {
            return invalid_argument(fmt::format("the logit_bias of token {} is {}", one.token, one.bias),
                                    "give a number, or -infinity to ban the token");
        }
    }
    return {};
}

void add_logit_bias(std::span<float> logits, std::span<const LogitBias> biases) {
    for (const LogitBias& one : biases) {
        assert(one.token < logits.size());
        float& logit = logits[one.token];
        logit = std::isinf(one.bias) ? one.bias : rounded_logit(logit, double{logit} + one.bias);
    }
}

void apply_repetition_penalty(std::span<float> logits, const Parameters& parameters, const History& history,
                              std::span<uint32_t> counts) {
    const double penalty = parameters.repetition_penalty;
    if (penalty == 1)
        return;
    change_counted(logits, history.last(parameters.repetition_window_tokens), counts,
                   [&](double logit, uint32_t) { return logit > 0 ? logit / penalty : logit * penalty; });
}

void apply_frequency_penalty(std::span<float> logits, const Parameters& parameters, const History& history,
                             std::span<uint32_t> counts) {
    const double penalty = parameters.frequency_penalty;
    if (penalty == 0)
        return;
    change_counted(logits, history.last_output(parameters.frequency_window_tokens), counts,
                   [&](double logit, uint32_t count) { return logit - penalty * count; });
}

void apply_presence_penalty(std::span<float> logits, const Parameters& parameters, const History& history,
                            std::span<uint32_t> counts) {
    const double penalty = parameters.presence_penalty;
    if (penalty == 0)
        return;
    change_counted(logits, history.last_output(parameters.presence_window_tokens), counts,
                   [&](double logit, uint32_t) { return logit - penalty; });
}

void apply_dry(std::span<float> logits, const Parameters& parameters, const SequenceBreakers& breakers,
               const History& history, std::span<uint32_t> lengths_max, std::vector<uint32_t>& lengths) {
    if (parameters.dry_multiplier == 0)
        return;
    const std::span<const TokenId> tokens = history.last(parameters.dry_window_tokens);
    const uint32_t allowed = parameters.dry_allowed_length;
    const uint32_t length_max = repetition_lengths(tokens, lengths);
    if (length_max < allowed)
        return;
    const auto bound = static_cast<uint32_t>(breakers.tokens_after_last(tokens, length_max));
    // The repetition that ends before position n - i is followed by the token at position n - i.
    const auto follower = [&](std::size_t i) { return tokens[tokens.size() - i]; };
    for (std::size_t i = 1; i < tokens.size(); ++i) {
        if (const TokenId token = follower(i); token < logits.size())
            lengths_max[token] = std::max(lengths_max[token], std::min(lengths[i], bound));
    }
    for (std::size_t i = 1; i < tokens.size(); ++i) {
        const TokenId token = follower(i);
        if (token >= logits.size() || lengths_max[token] == 0)
            continue;
        if (lengths_max[token] >= allowed && !breakers.contains(token)) {
            const double penalty = parameters.dry_multiplier *
                                   std::pow(double{parameters.dry_base}, lengths_max[token] - allowed);
            logits[token] = rounded_logit(logits[token], logits[token] - penalty);
        }
        lengths_max[token] = 0;
    }
}

} // namespace etna::sampling

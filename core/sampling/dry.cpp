#include "core/sampling/dry.hpp"

#include "core/sampling/change.hpp"

#include <algorithm>
#include <cmath>

namespace etna::sampling {
namespace {

/// lengths[i] = how many tokens before position n - i equal those at the end of `tokens`, for i in [1, n):
/// the Z function (Gusfield, "Algorithms on Strings, Trees, and Sequences", 1997) of the reversed tokens.
/// Returns the largest.
uint32_t repetition_lengths(std::span<const TokenId> tokens, std::vector<uint32_t>& lengths) {
    const auto count = static_cast<uint32_t>(tokens.size());
    const auto reversed = [&](uint32_t i) { return tokens[count - 1 - i]; };
    lengths.assign(count, 0);
    uint32_t most = 0;
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
        most = std::max(most, length);
    }
    return most;
}

} // namespace

void apply_dry(std::span<float> logits, const Parameters& parameters, const SequenceBreakers& breakers,
               const History& history, std::span<uint32_t> longest, std::vector<uint32_t>& lengths) {
    if (parameters.dry_multiplier == 0)
        return;
    const std::span<const TokenId> tokens = history.last(parameters.dry_window_tokens);
    const uint32_t allowed = parameters.dry_allowed_length;
    const uint32_t most = repetition_lengths(tokens, lengths);
    if (most < allowed)
        return;
    const auto bound = static_cast<uint32_t>(breakers.tokens_behind_last(tokens, most));
    // The repetition that ends before position n - i is followed by the token at position n - i.
    const auto follower = [&](std::size_t i) { return tokens[tokens.size() - i]; };
    for (std::size_t i = 1; i < tokens.size(); ++i) {
        if (const TokenId token = follower(i); token < logits.size())
            longest[token] = std::max(longest[token], std::min(lengths[i], bound));
    }
    for (std::size_t i = 1; i < tokens.size(); ++i) {
        const TokenId token = follower(i);
        if (token >= logits.size() || longest[token] == 0)
            continue;
        if (longest[token] >= allowed && !breakers.contains(token)) {
            const double penalty =
                parameters.dry_multiplier * std::pow(double{parameters.dry_base}, longest[token] - allowed);
            logits[token] = rounded_logit(logits[token], logits[token] - penalty);
        }
        longest[token] = 0;
    }
}

} // namespace etna::sampling

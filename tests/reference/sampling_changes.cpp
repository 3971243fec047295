#include "tests/reference/sampling_changes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace etna::reference {
namespace {

using Tokens = std::vector<TokenId>;

constexpr double banned_logit = -std::numeric_limits<double>::infinity();

Tokens last(const Tokens& tokens, uint32_t count) {
    Tokens result;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        if (tokens.size() - i <= count)
            result.push_back(tokens[i]);
    }
    return result;
}

double occurrences(const Tokens& tokens, TokenId token) {
    double count = 0;
    for (const TokenId one : tokens)
        count += one == token ? 1 : 0;
    return count;
}

/// Whether `tokens` contains `part` directly before position `end`.
bool is_before(const Tokens& tokens, const Tokens& part, std::size_t end) {
    if (part.size() > end)
        return false;
    for (std::size_t i = 0; i < part.size(); ++i) {
        if (tokens[end - part.size() + i] != part[i])
            return false;
    }
    return true;
}

std::size_t tokens_after_last_breaker(const Tokens& tokens, const std::vector<Tokens>& breakers) {
    std::size_t start = 0;
    for (std::size_t end = 1; end <= tokens.size(); ++end) {
        for (const Tokens& breaker : breakers) {
            if (is_before(tokens, breaker, end))
                start = end;
        }
    }
    return tokens.size() - start;
}

/// The sum, within the range of float; but -infinity stays, and a bias of -infinity bans.
double held(double logit, double change) {
    constexpr double float_max = std::numeric_limits<float>::max();
    if (logit == banned_logit || change == banned_logit)
        return banned_logit;
    return std::clamp(logit + change, -float_max, float_max);
}

double dry_penalty(const sampling::Parameters& parameters, const Past& past, const Tokens& window,
                   TokenId token) {
    for (const Tokens& breaker : past.breakers) {
        if (breaker == Tokens{token})
            return 0;
    }
    const uint32_t length = repetition_length(window, past.breakers, token);
    if (length < parameters.dry_allowed_length)
        return 0;
    const double penalty =
        parameters.dry_multiplier *
        std::pow(double{parameters.dry_base}, double(length) - parameters.dry_allowed_length);
    return std::min(penalty, std::numeric_limits<double>::max()); // only a bias bans
}

} // namespace

uint32_t repetition_length(const Tokens& tokens, const std::vector<Tokens>& breakers, TokenId token) {
    const std::size_t length_max = tokens_after_last_breaker(tokens, breakers);
    uint32_t longest = 0;
    for (std::size_t length = 1; length <= length_max; ++length) {
        const Tokens ending(tokens.end() - static_cast<std::ptrdiff_t>(length), tokens.end());
        for (std::size_t end = length; end < tokens.size(); ++end) {
            if (tokens[end] == token && is_before(tokens, ending, end))
                longest = static_cast<uint32_t>(length);
        }
    }
    return longest;
}

Vector changed_logits(View logits, const sampling::Parameters& parameters, const Past& past) {
    Tokens history = past.prompt;
    history.insert(history.end(), past.output.begin(), past.output.end());
    const Tokens repetition_window = last(history, parameters.repetition_window_tokens);
    const Tokens frequency_window = last(past.output, parameters.frequency_window_tokens);
    const Tokens presence_window = last(past.output, parameters.presence_window_tokens);
    const Tokens dry_window = last(history, parameters.dry_window_tokens);
    Vector changed;
    for (TokenId token = 0; token < logits.size(); ++token) {
        double logit = logits[token];
        for (const sampling::LogitBias& bias : past.biases) {
            if (bias.token == token)
                logit = held(logit, bias.bias);
        }
        const double penalty = parameters.repetition_penalty;
        if (occurrences(repetition_window, token) > 0)
            logit = held(logit > 0 ? logit / penalty : logit * penalty, 0);
        logit = held(logit, -parameters.frequency_penalty * occurrences(frequency_window, token));
        if (occurrences(presence_window, token) > 0)
            logit = held(logit, -parameters.presence_penalty);
        changed.push_back(held(logit, -dry_penalty(parameters, past, dry_window, token)));
    }
    return changed;
}

} // namespace etna::reference

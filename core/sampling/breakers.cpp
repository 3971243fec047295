#include "core/sampling/breakers.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::sampling {

Result<SequenceBreakers> SequenceBreakers::create(std::vector<std::vector<TokenId>> sequences) {
    SequenceBreakers breakers;
    for (std::vector<TokenId>& sequence : sequences) {
        if (sequence.empty() || sequence.size() > breaker_tokens_max) {
            return invalid_argument(fmt::format("a sequence breaker has {} tokens, outside 1 to {}",
                                                sequence.size(), breaker_tokens_max));
        }
        if (sequence.size() == 1) {
            breakers.single_.push_back(sequence.front());
            continue;
        }
        std::reverse(sequence.begin(), sequence.end());
        breakers.longer_.push_back(std::move(sequence));
    }
    std::sort(breakers.single_.begin(), breakers.single_.end());
    std::sort(breakers.longer_.begin(), breakers.longer_.end());
    return breakers;
}

bool SequenceBreakers::contains(TokenId token) const {
    return std::binary_search(single_.begin(), single_.end(), token);
}

/// Whether `tokens`, which is not empty, ends with a breaker.
bool SequenceBreakers::ends(std::span<const TokenId> tokens) const {
    if (contains(tokens.back()))
        return true;
    const auto with_last = [](const std::vector<TokenId>& sequence, TokenId last) {
        return sequence.front() < last;
    };
    auto sequence = std::lower_bound(longer_.begin(), longer_.end(), tokens.back(), with_last);
    for (; sequence != longer_.end() && sequence->front() == tokens.back(); ++sequence) {
        if (sequence->size() <= tokens.size() &&
            std::equal(sequence->begin(), sequence->end(), tokens.rbegin()))
            return true;
    }
    return false;
}

std::size_t SequenceBreakers::tokens_after_last(std::span<const TokenId> tokens, std::size_t limit) const {
    std::size_t count = 0;
    while (count < limit && count < tokens.size() && !ends(tokens.first(tokens.size() - count)))
        ++count;
    return count;
}

} // namespace etna::sampling

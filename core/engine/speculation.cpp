#include "core/engine/speculation.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::engine {

Status check(const Speculation& speculation, uint32_t vocabulary) {
    const auto refused = [](std::string message) {
        return Error{ErrorKind::invalid_argument, std::move(message)};
    };
    if (speculation.tokens_max == 0 || speculation.tokens_max > drafts_max)
        return refused(fmt::format("{} tokens are to be drafted at once; 1 to {} can be",
                                   speculation.tokens_max, drafts_max));
    if (speculation.lookup_ngram_max > ngram_max)
        return refused(fmt::format("runs of {} tokens are to be looked for, and at most {} can be",
                                   speculation.lookup_ngram_max, ngram_max));
    if (const auto least = speculation.confidence_min; least && !(*least >= 0 && *least <= 1))
        return refused(fmt::format("the least confidence is {}, and must be 0 to 1", *least));
    const auto foreign = std::find_if(speculation.prediction.begin(), speculation.prediction.end(),
                                      [&](TokenId token) { return token >= vocabulary; });
    if (foreign != speculation.prediction.end())
        return refused(
            fmt::format("the prediction has token {}, outside the vocabulary of {}", *foreign, vocabulary));
    return {};
}

} // namespace etna::engine

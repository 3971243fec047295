#pragma once

#include "core/generate/events.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// Internal to core/generate: selection of the best of several sampled answers.
namespace etna::generate {

/// A sampled answer whose events are buffered until the best answers are known.
struct BufferedAnswer {
    std::vector<Event> events;              ///< the last one is Finished
    double logprob_sum = 0;                 ///< over `tokens`, natural logarithm
    std::size_t tokens = 0;                 ///< sampled, without the end token
    std::optional<double> end_logprob = {}; ///< of the end token; empty if another limit ended the answer

    /// Returns the mean log-probability, end token included; otherwise an empty answer would always rank
    /// first. -infinity if nothing was sampled, so that such an answer ranks last.
    [[nodiscard]] double mean_logprob() const;

    /// Returns whether the answer was cancelled, so that its text is an arbitrary prefix.
    [[nodiscard]] bool was_cancelled() const;
};

/// Returns the indices of the `count` answers with the highest mean log-probability, ties by index.
/// Cancelled answers rank last, because a prefix is likely merely by being short.
std::vector<std::size_t> rank(const std::vector<BufferedAnswer>& answers, std::size_t count);

/// Returns the number of tokens of the answers whose index is not in `best`.
uint32_t discarded_tokens(const std::vector<BufferedAnswer>& answers, const std::vector<std::size_t>& best);

} // namespace etna::generate

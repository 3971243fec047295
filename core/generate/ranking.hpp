#pragma once

#include "core/generate/generate.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// Internal to core/generate.
namespace etna::generate {

/// One of several sampled answers: buffers its events until the best answers are known.
struct KeptAnswer {
    std::vector<Event> events; ///< the last one is Finished
    double logprob_sum = 0;    ///< over its tokens
    std::size_t tokens = 0;
    std::optional<double> end_logprob = {}; ///< of its end token, which `tokens` excludes

    /// Returns the mean log-probability, end token included; otherwise an empty answer would always rank
    /// first. -infinity if nothing was sampled, so that such an answer ranks last.
    [[nodiscard]] double mean_logprob() const;

    /// Returns whether the answer was cancelled, so that its text is an arbitrary prefix.
    [[nodiscard]] bool was_cut() const;
};

/// Returns the indices of the `count` answers with the highest mean log-probability, ties by index. Cut
/// answers rank after the others, because a prefix is likely merely by being short.
std::vector<std::size_t> rank(const std::vector<KeptAnswer>& answers, std::size_t count);

/// Returns the number of tokens of the answers that are not in `places`.
uint32_t tokens_beside(const std::vector<KeptAnswer>& answers, const std::vector<std::size_t>& places);

} // namespace etna::generate

#pragma once

#include "core/generate/generate.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// Private to the room.
namespace etna::generate {

/// One of several answers of which the best are told: its events, until that is known.
struct KeptAnswer {
    std::vector<Event> events; ///< Finished is the last
    double logprob_sum = 0;    ///< of its tokens
    std::size_t tokens = 0;
    std::optional<double> end_logprob = {}; ///< of the token that ended it, which is none of these

    /// The end takes part, lest an answer that is empty is the likeliest of all. -infinity where nothing was
    /// drawn: that is no answer yet, and none is less likely.
    [[nodiscard]] double mean_logprob() const;

    /// Whether its end was asked for before it came, so that what there is may be any beginning.
    [[nodiscard]] bool was_cut() const;
};

/// The `count` of highest mean log-probability, by their place; the first among equals. Those that were cut
/// come after those that ended themselves: a beginning is likely by its shortness.
std::vector<std::size_t> rank(const std::vector<KeptAnswer>& answers, std::size_t count);

/// How many tokens the others have, beside those at `places`.
uint32_t tokens_beside(const std::vector<KeptAnswer>& answers, const std::vector<std::size_t>& places);

} // namespace etna::generate

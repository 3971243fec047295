#pragma once

#include "core/base/token.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace etna::engine {

/// Where a run of tokens stands in a text.
struct FoundRun {
    std::size_t behind = 0; ///< the place after it; 0: nowhere
    std::size_t length = 0;
};

/// All places of a text that does not change, sorted by the tokens before them: finds runs of any length, at
/// the cost of 12 bytes for each place. Immutable, so that threads may share it.
class SortedPlaces {
public:
    SortedPlaces() = default;

    /// Of runs of at most `longest` tokens that end before place `end` of `text`.
    SortedPlaces(std::span<const TokenId> text, std::size_t end, uint32_t longest);

    /// The last run in `text`, the same as before, that is as long as possible, of `shortest` tokens at
    /// least, and equal to the end of `tail`.
    [[nodiscard]] FoundRun find(std::span<const TokenId> text, std::span<const TokenId> tail,
                                std::size_t shortest = 1) const;

private:
    [[nodiscard]] uint32_t last_of(std::size_t first, std::size_t end) const;

    uint32_t longest_ = 0;
    std::vector<uint32_t> behind_; ///< places, by the tokens before them read backwards, then by themselves
    std::vector<uint32_t> last_;   ///< [2 * places]: a tree of the largest of `behind_`, leaves last
};

} // namespace etna::engine

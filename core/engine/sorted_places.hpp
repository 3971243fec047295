#pragma once

#include "core/base/token.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace etna::engine {

/// An occurrence of a run of tokens in a text.
struct FoundRun {
    std::size_t behind = 0; ///< the position after the run; 0: not found
    std::size_t length = 0;
};

/// All positions of an immutable text, sorted by the tokens before them: finds runs of any length, at the
/// cost of 12 bytes for each position. Immutable, so that threads may share it.
class SortedPlaces {
public:
    SortedPlaces() = default;

    /// Indexes runs of at most `longest` tokens that end before position `end` of `text`.
    SortedPlaces(std::span<const TokenId> text, std::size_t end, uint32_t longest);

    /// The last occurrence of the longest run, of at least `shortest` tokens, that `tail` ends with. `text`
    /// starts with the text that was indexed.
    [[nodiscard]] FoundRun find(std::span<const TokenId> text, std::span<const TokenId> tail,
                                std::size_t shortest = 1) const;

private:
    [[nodiscard]] uint32_t last_of(std::size_t first, std::size_t end) const;

    uint32_t longest_ = 0;
    std::vector<uint32_t> behind_; ///< positions, by the tokens before them read backwards, then by value
    std::vector<uint32_t> last_; ///< [2 * positions]: a segment tree of the maxima of `behind_`, leaves last
};

} // namespace etna::engine

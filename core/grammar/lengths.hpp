#pragma once

#include "core/grammar/automaton.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// Private to the room.
namespace etna::grammar {

/// How many characters the strings have that an automaton accepts from each of its states on: the counts that
/// occur, exactly. From some count on they come again with a period, as there are so many sets of states
/// only. Source: Chrobak, Finite automata and unary languages (1986).
class Lengths {
public:
    /// `begins[state]`: a byte that is read there begins a character; its other bytes count nothing. Counts
    /// up to `most` are told apart, or all. Precondition: within a character no state comes twice. Errors:
    /// unsupported (that takes more than looks_max looks at what a state leads to). `looks` gets how many.
    static Result<Lengths> create(const Automaton& automaton, const std::vector<bool>& begins, uint32_t most,
                                  std::size_t& looks);

    /// Counts up to that are known: `unbounded`, or the `most` of create() where they have not come again
    /// yet.
    [[nodiscard]] uint32_t known_to() const;
    /// The smallest count from `least` on; none where there is none.
    [[nodiscard]] std::optional<uint32_t> at_least(uint32_t state, uint32_t least) const;
    /// The greatest count up to `most`; `unbounded` where there is no greatest, and `most` is that.
    [[nodiscard]] std::optional<uint32_t> at_most(uint32_t state, uint32_t most) const;

    struct Range {
        uint32_t least = 0;
        uint32_t most = 0;
    };
    /// Smaller counts, or none, that are the same as these to all texts of up to `characters` characters,
    /// from whatever state they start.
    [[nodiscard]] Range shortened(Range range, uint32_t characters) const;

    [[nodiscard]] std::size_t bytes() const { return bits_.size() * sizeof(uint64_t); }
    [[nodiscard]] std::size_t states() const { return words_ == 0 ? 0 : bits_.size() / words_; }

    static constexpr std::size_t looks_max = 100'000'000;

private:
    Lengths() = default;
    [[nodiscard]] bool has(uint32_t state, uint32_t count) const {
        return ((bits_[state * words_ + count / 64] >> (count % 64)) & 1) != 0;
    }
    [[nodiscard]] uint32_t known() const { return before_ + period_; }
    void keep(const std::vector<std::vector<bool>>& with_count);

    uint32_t before_ = 0; ///< counts from here on come again
    uint32_t period_ = 0; ///< 0: it is not known what comes behind
    std::size_t words_ = 0;
    std::vector<uint64_t> bits_; ///< [state][count]: whether it occurs
};

} // namespace etna::grammar

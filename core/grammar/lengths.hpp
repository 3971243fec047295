#pragma once

#include "core/grammar/automaton.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

// Private to core/grammar.
namespace etna::grammar {

/// The lengths, in characters, of the strings that an automaton accepts from each of its states: exactly the
/// counts that occur. From some count on they repeat with a period, because there are finitely many sets of
/// states. Source: Chrobak, Finite automata and unary languages (1986).
class Lengths {
public:
    /// `begins[state]`: a byte that is read there begins a character; the other bytes of a character do not
    /// count. Distinguishes counts up to `most`, or all. Precondition: no state repeats within a character.
    /// Errors: unsupported (more than looks_max visits of targets). `looks` receives their number.
    static Result<Lengths> create(const Automaton& automaton, const std::vector<bool>& begins, uint32_t most,
                                  std::size_t& looks);

    /// The largest count that is known: `unbounded`, or the `most` of create() if the period has not been
    /// reached.
    [[nodiscard]] uint32_t known_to() const;
    /// The smallest count that is at least `least`; empty if there is none.
    [[nodiscard]] std::optional<uint32_t> at_least(uint32_t state, uint32_t least) const;
    /// The greatest count up to `most`; `unbounded` if `most` is that and there is no greatest.
    [[nodiscard]] std::optional<uint32_t> at_most(uint32_t state, uint32_t most) const;

    struct Range {
        uint32_t least = 0;
        uint32_t most = 0;
    };
    /// Smaller counts, or no limits, that are equivalent to `range` for all texts of up to `characters`
    /// characters, from any state.
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

    uint32_t before_ = 0; ///< counts repeat from here on
    uint32_t period_ = 0; ///< 0: counts from before_ on are unknown
    std::size_t words_ = 0;
    std::vector<uint64_t> bits_; ///< [state][count]: whether it occurs
};

} // namespace etna::grammar

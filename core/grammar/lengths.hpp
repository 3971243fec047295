#pragma once

#include "core/grammar/automaton.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace etna::grammar {

/// The lengths, in characters, of the strings that an automaton accepts from each of its states: exactly the
/// counts that occur. From some count on they repeat with a period, because there are finitely many sets of
/// states. Source: Chrobak, Finite automata and unary languages (1986).
class Lengths {
public:
    /// `begins[state]`: a byte that is read there begins a character; the other bytes of a character do not
    /// count. Distinguishes counts up to `max`, or all. Precondition: no state repeats within a character.
    /// Errors: unsupported (more than visits_max visits of targets). `visits` receives their number.
    static Result<Lengths> create(const Automaton& automaton, const std::vector<bool>& begins, uint32_t max,
                                  std::size_t& visits);

    /// The largest count that is known: `unbounded`, or the `max` of create() if the period has not been
    /// reached.
    [[nodiscard]] uint32_t known_to() const;
    /// The smallest count of at least `min`; empty if no such count occurs.
    [[nodiscard]] std::optional<uint32_t> at_least(uint32_t state, uint32_t min) const;
    /// The greatest count up to `max`; `unbounded` if both `max` and the counts are unbounded.
    [[nodiscard]] std::optional<uint32_t> at_most(uint32_t state, uint32_t max) const;

    struct Range {
        uint32_t min = 0;
        uint32_t max = 0;
    };
    /// Smaller counts, or no limits, that are equivalent to `range` for all texts of up to `characters`
    /// characters, from any state.
    [[nodiscard]] Range shortened(Range range, uint32_t characters) const;

    [[nodiscard]] std::size_t bytes() const { return bits_.size() * sizeof(uint64_t); }
    [[nodiscard]] std::size_t states() const { return words_ == 0 ? 0 : bits_.size() / words_; }

    static constexpr std::size_t visits_max = 100'000'000;

private:
    Lengths() = default;
    [[nodiscard]] bool has(uint32_t state, uint32_t count) const {
        return ((bits_[state * words_ + count / 64] >> (count % 64)) & 1) != 0;
    }
    [[nodiscard]] uint32_t known() const { return before_ + period_; }
    void store(const std::vector<std::vector<bool>>& with_count);

    uint32_t before_ = 0; ///< counts repeat from here on
    uint32_t period_ = 0; ///< 0: counts from before_ on are unknown
    std::size_t words_ = 0;
    std::vector<uint64_t> bits_; ///< [state][count]: whether it occurs
};

} // namespace etna::grammar

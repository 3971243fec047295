#pragma once

#include "core/grammar/automaton.hpp"
#include "core/grammar/expression.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace etna::grammar {

/// The transition relation of a set of texts in an automaton: the states that they lead to from each state.
/// It decides whether the automaton accepts any of them, and the relation of a sequence follows from those of
/// its parts.
class Paths {
public:
    static constexpr std::size_t states_max = 128; ///< maximum states of the automaton
    using States = std::bitset<states_max>;

    /// The paths of no text; of the empty text.
    static Paths none(std::size_t states) { return Paths(states); }
    static Paths staying(std::size_t states);
    /// The paths of one byte out of a set.
    static Paths of_bytes(const Automaton& automaton, const ByteSet& set);

    [[nodiscard]] const States& from(uint32_t state) const { return to_[state]; }

    /// Adds those of `others`.
    void add(const Paths& others);
    /// The paths of a concatenation: these, then others.
    [[nodiscard]] Paths then(const Paths& others) const;
    /// These, from `min` to `max` times; `unbounded` for no limit.
    [[nodiscard]] Paths repeated(uint32_t min, uint32_t max) const;

    [[nodiscard]] std::size_t bytes() const { return sizeof(*this) + to_.size() * sizeof(States); }
    bool operator==(const Paths&) const = default;

private:
    explicit Paths(std::size_t states) : to_(states) {}
    [[nodiscard]] Paths power(uint32_t exponent) const;

    std::vector<States> to_; ///< [state]
};

} // namespace etna::grammar

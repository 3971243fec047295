#pragma once

#include "core/grammar/automaton.hpp"
#include "core/grammar/byte_set.hpp"

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <vector>

// Private to the room.
namespace etna::grammar {

/// Where the texts of a set lead in an automaton: to which states from each state. That says whether the
/// automaton accepts any of them, and can be told of a sequence by its parts alone.
class Paths {
public:
    static constexpr std::size_t states_max = 128; ///< that an automaton may have
    using States = std::bitset<states_max>;

    /// Of no text; of the empty text.
    static Paths none(std::size_t states) { return Paths(states); }
    static Paths staying(std::size_t states);
    /// Of one byte out of a set.
    static Paths of_bytes(const Automaton& automaton, const ByteSet& set);

    [[nodiscard]] const States& from(uint32_t state) const { return to_[state]; }

    /// These, and others.
    void add(const Paths& others);
    /// First these, then others.
    [[nodiscard]] Paths then(const Paths& others) const;
    /// These, from `least` to `most` times; `unbounded` for no limit.
    [[nodiscard]] Paths repeated(uint32_t least, uint32_t most) const;

    [[nodiscard]] std::size_t bytes() const { return sizeof(*this) + to_.size() * sizeof(States); }
    bool operator==(const Paths&) const = default;

private:
    explicit Paths(std::size_t states) : to_(states) {}
    [[nodiscard]] Paths power(uint32_t exponent) const;

    std::vector<States> to_; ///< [state]
};

} // namespace etna::grammar

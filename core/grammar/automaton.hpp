#pragma once

#include "core/base/result.hpp"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace etna::grammar {

/// A deterministic automaton over bytes, with the fewest states that its set of strings needs, all of which
/// lead to an accepting one: whoever walks it is never lost. State 0 is the first; an automaton without
/// states accepts nothing.
struct Automaton {
    static constexpr uint32_t dead = UINT32_MAX; ///< where no string of the set goes

    std::array<uint8_t, 256> class_of = {}; ///< bytes of one class lead to the same states
    uint32_t class_count = 1;
    std::vector<uint32_t> targets; ///< [state][class]
    std::vector<bool> accepts;     ///< [state]

    [[nodiscard]] uint32_t state_count() const { return static_cast<uint32_t>(accepts.size()); }
    [[nodiscard]] uint32_t next(uint32_t state, uint8_t byte) const {
        return targets[state * class_count + class_of[byte]];
    }
    bool operator==(const Automaton&) const = default;
};

/// States that an automaton may have while it is made.
constexpr uint32_t automaton_states_max = 1U << 14;

/// The strings that both accept. Errors: unsupported (more than automaton_states_max states on the way).
/// `targets`, if any, gets how many targets of states were looked at.
Result<Automaton> intersection(const Automaton& a, const Automaton& b, std::size_t* targets = nullptr);

/// The same as made, with a state for each pair of states that a string leads to; `states` are those. For who
/// has to know them; else see intersection(). Errors: as there.
Result<Automaton> product(const Automaton& a, const Automaton& b,
                          std::vector<std::pair<uint32_t, uint32_t>>& states);

/// All strings but those of `a`. Errors: as intersection().
Result<Automaton> complement(const Automaton& a);

/// `raw` without states that are not reached or lead nowhere, and with the fewest states and classes.
/// `raw.targets` may hold `dead`. Takes about n log n steps.
Automaton minimised(const Automaton& raw);

} // namespace etna::grammar

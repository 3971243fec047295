#pragma once

#include "core/base/result.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::grammar {

/// A minimal deterministic automaton over bytes (DFA). Every state can reach an accepting one. State 0 is the
/// first; an automaton without states accepts nothing.
struct Automaton {
    static constexpr uint32_t dead = UINT32_MAX; ///< target of a byte after which no string is accepted

    std::array<uint8_t, 256> class_of = {}; ///< bytes of one class have the same targets
    uint32_t class_count = 1;
    std::vector<uint32_t> targets; ///< [state][class]
    std::vector<bool> accepts;     ///< [state]

    [[nodiscard]] uint32_t state_count() const { return static_cast<uint32_t>(accepts.size()); }
    [[nodiscard]] uint32_t next(uint32_t state, uint8_t byte) const {
        return targets[state * class_count + class_of[byte]];
    }
    bool operator==(const Automaton&) const = default;
};

/// Maximum number of states during construction.
constexpr uint32_t automaton_states_max = 1U << 14;

/// The strings that both accept. Errors: unsupported (more than automaton_states_max states during
/// construction). `targets`, if not null, receives how many targets of states were visited.
Result<Automaton> intersection(const Automaton& a, const Automaton& b, std::size_t* targets = nullptr);

/// The intersection before minimisation: one state for each reachable pair of states, listed in `states`. For
/// callers that need the pairs; otherwise use intersection(). Errors: as there.
Result<Automaton> product(const Automaton& a, const Automaton& b,
                          std::vector<std::pair<uint32_t, uint32_t>>& states);

/// All strings except those of `a`. Errors: as intersection().
Result<Automaton> complement(const Automaton& a);

/// `raw` without unreachable and dead states, and with the fewest states and classes. `raw.targets` may
/// contain `dead`. Takes about n log n steps.
Automaton minimised(const Automaton& raw);

/// First byte of a control token's text, see control_text(). UTF-8 never contains it.
constexpr uint8_t control_byte = 0xFF;

/// Bytes without control_byte that end with the first occurrence of `mark`. Precondition: `mark` is not
/// empty.
Automaton until(std::string_view mark);

/// Bytes without control_byte and without any of `marks`. Precondition: no mark is empty. Errors: as
/// intersection().
Result<Automaton> without(std::span<const std::string> marks);

} // namespace etna::grammar

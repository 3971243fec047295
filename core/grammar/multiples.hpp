#pragma once

#include "core/grammar/automaton.hpp"
#include "core/grammar/decimal.hpp"

#include <cstdint>
#include <span>

namespace etna::grammar {

/// Digits that a reader with doubles keeps of any number: numbers of so many that differ, differ to it too.
constexpr uint32_t exact_digits = 15;

/// States that a divisor may cost, while its multiples are told from other numbers.
constexpr uint32_t divisor_states_max = 20'000;

/// The texts of digits, perhaps with a sign and a point, that are multiples of the divisor. Precondition: it
/// is more than zero. Errors: unsupported (it has too many digits).
Result<Automaton> multiples(const Decimal& divisor);

struct ExactMultiples {
    Automaton automaton;
    uint32_t digits; ///< that they have at most
};

/// Texts that are multiples of all the divisors, with at most exact_digits digits (zeros may follow where a
/// double rounds to a multiple as well). They have fewer where that takes too many states: 8 where the
/// divisor is 9973. Precondition: there is a divisor. Errors: as multiples().
Result<ExactMultiples> exact_multiples(std::span<const Decimal> divisors);

} // namespace etna::grammar

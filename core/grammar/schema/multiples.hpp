#pragma once

#include "core/grammar/automaton.hpp"
#include "core/grammar/schema/decimal.hpp"

#include <cstdint>

namespace etna::grammar {

/// Significant digits that a double preserves: different numbers of at most this many digits remain different
/// as doubles.
constexpr uint32_t exact_digits = 15;

/// Maximum states of an automaton for divisibility: about the divisor without its factors 2 and 5.
constexpr uint32_t divisor_states_max = 1024;

/// The least common multiple. Precondition: both are greater than zero. Errors: unsupported (one of the three
/// has more than exact_digits digits).
Result<Decimal> common_multiple(const Decimal& a, const Decimal& b);

/// The texts of digits, optionally with a sign and a point, that are multiples of the divisor. Precondition:
/// it is greater than zero. Errors: unsupported (it has more than exact_digits digits, or needs more than
/// divisor_states_max states).
Result<Automaton> multiples(const Decimal& divisor);

} // namespace etna::grammar

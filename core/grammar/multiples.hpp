#pragma once

#include "core/grammar/automaton.hpp"
#include "core/grammar/decimal.hpp"
#include "core/grammar/language.hpp"

#include <cstdint>

namespace etna::grammar {

/// Significant digits that a double preserves: different numbers of at most this many digits remain different
/// as doubles.
constexpr uint32_t exact_digits = 15;

/// Maximum states for testing divisibility: about the divisor without its factors 2 and 5. The work is
/// charged to the steps of the language.
constexpr uint32_t divisor_states_max = 25'000;

/// The least common multiple. Precondition: both are greater than zero. Errors: unsupported (one of the three
/// has more than exact_digits digits).
Result<Decimal> common_multiple(const Decimal& a, const Decimal& b);

/// Whether `value` is a multiple of `divisor`. Precondition: the divisor is greater than zero. Errors:
/// unsupported (it has more than exact_digits digits).
Result<bool> is_multiple(const Decimal& value, const Decimal& divisor);

/// The texts of digits, optionally with a sign and a point, that are multiples of the divisor. Precondition:
/// it is greater than zero. Errors: unsupported (it has more than exact_digits digits or takes too many
/// states; as Language::check(): `language` only provides the step budget).
Result<Automaton> multiples(Language& language, const Decimal& divisor);

struct ExactMultiples {
    Automaton automaton;
    uint32_t digits; ///< their maximum number of digits
};

/// Multiples of the divisor with at most digits_max digits (zeros may follow if a double rounds to a multiple
/// as well, unless that leaves fewer digits). The limit is lower if digits_max takes too many states: 8 for
/// the divisor 9973. Precondition: digits_max <= exact_digits. Errors: as multiples().
Result<ExactMultiples> exact_multiples(Language& language, const Decimal& divisor, uint32_t digits_max);

} // namespace etna::grammar

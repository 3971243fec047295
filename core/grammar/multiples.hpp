#pragma once

#include "core/grammar/automaton.hpp"
#include "core/grammar/decimal.hpp"
#include "core/grammar/language.hpp"

#include <cstdint>

namespace etna::grammar {

/// Digits that a reader with doubles keeps of any number: numbers of so many that differ, differ to it too.
constexpr uint32_t exact_digits = 15;

/// States that the multiples of a divisor may take while they are told from other numbers: about as many as
/// it is large when two and five are divided out of it. What this costs is taken from the steps of the
/// language.
constexpr uint32_t divisor_states_max = 25'000;

/// The least number that is a multiple of both. Precondition: they are more than zero. Errors: unsupported
/// (one of the three has more than exact_digits digits).
Result<Decimal> common_multiple(const Decimal& a, const Decimal& b);

/// Precondition: the divisor is more than zero. Errors: unsupported (it has more than exact_digits digits).
Result<bool> is_multiple(const Decimal& value, const Decimal& divisor);

/// The texts of digits, perhaps with a sign and a point, that are multiples of the divisor. Precondition: it
/// is more than zero. Errors: unsupported (it has more than exact_digits digits or takes too many states; as
/// Language::check(): `language` is there for its steps).
Result<Automaton> multiples(Language& language, const Decimal& divisor);

struct ExactMultiples {
    Automaton automaton;
    uint32_t digits; ///< that they have at most
};

/// Multiples of the divisor with at most digits_max digits (zeros may follow where a double rounds to a
/// multiple as well, unless that leaves fewer digits). They have fewer where that takes too many states: 8
/// where the divisor is 9973. Precondition: digits_max <= exact_digits. Errors: as multiples().
Result<ExactMultiples> exact_multiples(Language& language, const Decimal& divisor, uint32_t digits_max);

} // namespace etna::grammar

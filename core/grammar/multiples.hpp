#pragma once

#include "core/grammar/automaton.hpp"
#include "core/grammar/decimal.hpp"
#include "core/grammar/language.hpp"

#include <cstdint>
#include <span>

namespace etna::grammar {

/// Digits that a reader with doubles keeps of any number: numbers of so many that differ, differ to it too.
constexpr uint32_t exact_digits = 15;

/// States that the multiples of a divisor may take while they are told from other numbers. What this costs is
/// taken from the steps of the language.
constexpr uint32_t divisor_states_max = 20'000;

/// The texts of digits, perhaps with a sign and a point, that are multiples of the divisor. Precondition: it
/// is more than zero. Errors: unsupported (it has too many digits; as Language::check(): `language` is there
/// for its steps).
Result<Automaton> multiples(Language& language, const Decimal& divisor);

struct ExactMultiples {
    Automaton automaton;
    uint32_t digits; ///< that they have at most
};

/// Texts that are multiples of all the divisors, with at most digits_max digits (zeros may follow where a
/// double rounds to a multiple as well). They have fewer where that takes too many states: 8 where the
/// divisor is 9973. Preconditions: there is a divisor; digits_max <= exact_digits. Errors: as multiples().
Result<ExactMultiples> exact_multiples(Language& language, std::span<const Decimal> divisors,
                                       uint32_t digits_max);

} // namespace etna::grammar

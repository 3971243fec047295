#pragma once

#include "core/grammar/language.hpp"
#include "core/grammar/schema/decimal.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace etna::grammar {

enum class NumberKind : uint8_t {
    integer,
    fraction, ///< all non-integers
    any,
};

struct Bound {
    Decimal value = {};
    bool is_excluded = false; ///< the bound itself is excluded

    bool operator==(const Bound&) const = default;
};

/// A set of JSON numbers.
struct NumberSet {
    NumberKind kind = NumberKind::any;
    std::optional<Bound> lower = {};
    std::optional<Bound> upper = {};
    std::vector<Decimal> multiples_of = {}; ///< each greater than zero
};

/// The JSON numbers of the set, all of them finite doubles. If the set is restricted at all, they have no
/// exponent, and "-0" is left out; a single number has one notation only. If a fraction, an excluded bound or
/// a divisor decides membership, they have at most the digits that a double preserves (exact_digits), so that
/// a reader with doubles finds them in the set too. Multiples have only as many digits as JavaScript
/// validators recognise, unless a bound requires them. Empty sets are `nothing`. Errors: unsupported
/// (divisors, as multiples() and common_multiple(); all numbers of the set have more digits than are
/// preserved, or are too large; too many states).
Result<Expression> json_number(Language& language, const NumberSet& set);

} // namespace etna::grammar

#pragma once

#include "core/grammar/decimal.hpp"
#include "core/grammar/language.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace etna::grammar {

enum class NumberKind : uint8_t {
    integer,
    fraction, ///< all that are no integers
    any,
};

struct Bound {
    Decimal value = {};
    bool is_excluded = false; ///< only what is beyond it

    bool operator==(const Bound&) const = default;
};

/// Which numbers a JSON text may have.
struct NumberSet {
    NumberKind kind = NumberKind::any;
    std::optional<Bound> least = {};
    std::optional<Bound> most = {};
    std::vector<Decimal> multiples_of = {}; ///< each more than zero
    std::vector<Decimal> no_multiples_of = {};
};

/// JSON numbers out of the set, all of which are finite doubles. They are written without an exponent where
/// anything is said of them, a single number in one way only; there is no "-0". Where a fraction, an excluded
/// bound or a divisor decides, they have no more digits than a reader with doubles keeps (exact_digits), so
/// that they are in the set for it too. Empty sets are `nothing`. Errors: unsupported (a divisor with too
/// many digits, or whose multiples within the bounds have more digits than are kept; bounds that take too
/// many states; a single number that is no finite double).
Result<Expression> json_number(Language& language, const NumberSet& set);

} // namespace etna::grammar

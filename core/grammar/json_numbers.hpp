#pragma once

#include "core/grammar/language.hpp"
#include "core/grammar/number_set.hpp"

namespace etna::grammar {

/// JSON numbers out of the set, all of which are finite doubles. They are written without an exponent where
/// anything is said of them, a single number in one way only; there is no "-0". Where a fraction, an excluded
/// bound or a divisor decides, they have no more digits than a reader with doubles keeps (exact_digits), so
/// that they are in the set for it too. Empty sets are `nothing`. Errors: unsupported (a divisor with too
/// many digits or states, or whose multiples within the bounds have more digits than are kept; bounds that
/// take too many states, or leave only numbers next to zero that doubles do not tell apart; a single number
/// that is no finite double).
Result<Expression> json_number(Language& language, const NumberSet& set);

} // namespace etna::grammar

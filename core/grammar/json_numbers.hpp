#pragma once

#include "core/grammar/language.hpp"
#include "core/grammar/number_set.hpp"

namespace etna::grammar {

/// JSON numbers out of the set, all of them finite doubles. If the set is restricted at all, they have no
/// exponent; a single number has one notation only; there is no "-0". If a fraction, an excluded bound or a
/// divisor decides, they have no more digits than a double preserves (exact_digits), so that a reader with
/// doubles finds them in the set too. Empty sets are `nothing`. Errors: unsupported (a divisor with too many
/// digits or states, or whose multiples within the bounds have more digits than are preserved; bounds that
/// take too many states, or leave only numbers next to zero that doubles do not distinguish; a single number
/// that is not a finite double).
Result<Expression> json_number(Language& language, const NumberSet& set);

} // namespace etna::grammar

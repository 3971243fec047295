#pragma once

#include "core/grammar/decimal.hpp"
#include "core/grammar/language.hpp"

#include <cstdint>
#include <optional>

namespace etna::grammar {

enum class NumberKind : uint8_t { integer, any };

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
    std::optional<Decimal> multiple_of = {}; ///< more than zero
};

/// States that a divisor may cost.
constexpr uint32_t divisor_states_max = 20'000;

/// JSON numbers out of the set. With a bound or a divisor they are written without an exponent, and integers
/// always are; there is no "-0". Empty sets are `nothing`. Errors: unsupported (a divisor with too many
/// digits).
Result<Expression> json_number(Language& language, const NumberSet& set);

} // namespace etna::grammar

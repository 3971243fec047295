#pragma once

#include "core/base/result.hpp"

#include <string>
#include <string_view>

namespace etna::grammar {

/// An exact decimal number.
struct Decimal {
    bool is_negative = false;  ///< false for zero
    std::string integer = "0"; ///< no leading zeros; "0" below one
    std::string fraction = {}; ///< digits after the point, no trailing zeros

    [[nodiscard]] bool is_zero() const { return integer == "0" && fraction.empty(); }
    [[nodiscard]] bool is_integer() const { return fraction.empty(); }
    [[nodiscard]] Decimal magnitude() const;
    bool operator==(const Decimal&) const = default;
};

/// Maximum digits before or after the point.
constexpr std::size_t decimal_digits_max = 400;

/// Parses a JSON number. Errors: invalid_argument (not a number), unsupported (more than decimal_digits_max
/// digits).
Result<Decimal> decimal(std::string_view json_number);

/// All its digits, without an exponent.
std::string text_of(const Decimal& value);
/// The same for error messages: with an exponent if it is long, and truncated if it is still long.
std::string short_text(const Decimal& value);

/// Negative, zero or positive if `a` is less than, equal to or greater than `b`.
int compare(const Decimal& a, const Decimal& b);

} // namespace etna::grammar

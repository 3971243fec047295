#pragma once

#include "core/base/result.hpp"

#include <string>
#include <string_view>

namespace etna::grammar {

/// A number as its decimal digits, exactly.
struct Decimal {
    bool is_negative = false;  ///< never with zero
    std::string integer = "0"; ///< without zeros in front; "0" for less than one
    std::string fraction = {}; ///< behind the point, without zeros at its end

    [[nodiscard]] bool is_zero() const { return integer == "0" && fraction.empty(); }
    [[nodiscard]] bool is_integer() const { return fraction.empty(); }
    [[nodiscard]] Decimal magnitude() const;
    bool operator==(const Decimal&) const = default;
};

/// Digits that a number may have before or behind its point.
constexpr std::size_t decimal_digits_max = 400;

/// Reads a JSON number. Errors: invalid_argument (it is none), unsupported (more than decimal_digits_max
/// digits).
Result<Decimal> decimal(std::string_view json_number);

/// All its digits, without an exponent.
std::string text_of(const Decimal& value);
/// The same for errors: with an exponent where that is long, and cut off where it still is.
std::string shown(const Decimal& value);

/// The nearest number whose digits are zeros behind the first `count`, which begin with one that is
/// not zero; halves away from zero.
/// Precondition: count > 0.
Decimal rounded(const Decimal& value, std::size_t count);

/// Below zero, zero, or above it where `a` is less than, equal to, or more than `b`.
int compare(const Decimal& a, const Decimal& b);

} // namespace etna::grammar

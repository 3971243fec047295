#pragma once

#include "core/jinja/value.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Python's numbers. Integers of more than 64 bits can be printed, compared and used as keys; arithmetic with
/// one is an error.
namespace etna::jinja {

constexpr std::size_t integer_digits_max = 4300; ///< Python's limit for integer-string conversion

bool is_number(const Value& value); ///< bool, int of any size or float
/// Returns the nearest float; infinite for an integer out of float range. Precondition: is_number(number).
double real_of(const Value& number);
std::optional<int64_t> integer_of(const Value& value); ///< of a bool, or of an int that fits
/// As integer_of(), but clamps an int out of range to the smallest or largest int64_t.
std::optional<int64_t> clamped_integer_of(const Value& value);

/// Compares exactly, also across types: returns -1, 0 or 1; `unordered` if one is NaN. Precondition:
/// is_number() of both.
constexpr int unordered = 2;
int number_order(const Value& left, const Value& right);

/// Returns the decimal digits of a bool or int, with a sign if negative. Precondition: no other type.
std::string integer_text(const Value& integer);

/// Parses the text of integer_text(); Machine::integer() also accounts for its memory.
Value integer_value(std::string decimal);

/// Converts at most integer_digits_max digits of a base from 2 to 36 to decimal; time is quadratic in their
/// number unless the base is 10. Precondition: valid digits, at least one.
std::string decimal_digits(std::string_view digits, int base);

/// Truncates a float to an integer, as decimal digits. Precondition: it is finite.
std::string whole_text(double number);

/// Python's int(text, base) and float(text), for ASCII digits: white space around the number, a sign,
/// underscores between digits, prefixes (0x with base 16 or 0). Returns nothing if Python raises ValueError.
/// Integers are returned as decimal digits.
std::optional<std::string> parse_integer(std::string_view text, int base);
std::optional<double> parse_real(std::string_view text);

} // namespace etna::jinja

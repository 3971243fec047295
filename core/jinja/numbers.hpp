#pragma once

#include "core/jinja/value.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Python's numbers. An integer of more than 64 bits comes from JSON only. It can be printed, and compared
/// for equality with integers; any other use of its value is an error.
namespace etna::jinja {

bool is_number(const Value& value);  ///< bool, int of any size or float
double real_of(const Value& number); ///< precondition: is_number(number), and it is not large
std::optional<int64_t> integer_of(const Value& value); ///< of a bool, or of an int that fits

/// Compares exactly, also across types: returns -1, 0 or 1; `unordered` if one is NaN. Precondition:
/// is_number() of both, and none is large.
constexpr int unordered = 2;
int number_order(const Value& left, const Value& right);

/// Returns the decimal digits of a bool or int, with a sign if negative. Precondition: no other type.
std::string integer_text(const Value& integer);

/// Parses the text of integer_text().
Value integer_value(std::string decimal);

/// Truncates a float to an integer; nothing if it does not fit 64 bits, or is NaN.
std::optional<int64_t> whole_number(double number);

/// Python's int(text) and float(text), for ASCII digits: white space around the number, a sign, underscores
/// between digits. Returns nothing if Python raises ValueError.
std::optional<Value> parse_integer(std::string_view text);
std::optional<double> parse_real(std::string_view text);

} // namespace etna::jinja

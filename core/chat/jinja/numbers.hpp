#pragma once

#include "core/chat/jinja/value.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Python's numbers. An integer beyond 64 bits can be printed, compared and used as a key; whoever computes
/// with one gets an error.
namespace etna::chat::jinja {

constexpr std::size_t integer_digits_max = 4300; ///< as Python's bound on texts of integers

bool is_number(const Value& value); ///< bool, int of any size or float
/// The nearest float; infinite for an integer beyond all floats. Precondition: is_number(number).
double real_of(const Value& number);
std::optional<int64_t> integer_of(const Value& value); ///< of a bool, or of an int that fits
/// The same, and the smallest or largest one for an int beyond them.
std::optional<int64_t> clamped_integer_of(const Value& value);

/// -1, 0 or 1, exactly, whatever the types; `unordered` where one of them is NaN. Precondition: is_number()
/// of both.
constexpr int unordered = 2;
int number_order(const Value& left, const Value& right);

/// The decimal digits of a bool or int, with a sign where it is negative. Precondition: no other type.
std::string integer_text(const Value& integer);

/// The int that such a text says; Machine::integer() counts its memory too.
Value integer_value(std::string decimal);

/// Digits of a base from 2 to 36, at most integer_digits_max, as decimal ones; takes time quadratic in their
/// number where the base is not 10. Precondition: valid digits, at least one.
std::string decimal_digits(std::string_view digits, int base);

/// Decimal digits (with a sign or none) rounded to tens where `places` is 1, to hundreds where it is 2, ...:
/// half to even, as Python rounds ints.
std::string rounded_text(const std::string& decimal, std::size_t places);

/// A float without its fraction, as decimal digits. Precondition: it is finite.
std::string whole_text(double number);

} // namespace etna::chat::jinja

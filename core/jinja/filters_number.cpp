// Filters on numbers.

#include "core/jinja/errors.hpp"
#include "core/jinja/filters.hpp"
#include "core/jinja/number_text.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/unicode.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

Result<Value> absolute(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    if (self.is(Type::undefined))
        return type_error("bad operand type for abs(): 'Undefined'");
    if (self.is(Type::real))
        return Value(std::fabs(self.real()));
    if (is_number(self)) {
        const bool is_negative = number_order(self, Value(int64_t{0})) < 0;
        return negated(machine, self, is_negative ? UnaryOperator::negate : UnaryOperator::plus);
    }
    return type_error(fmt::format("bad operand type for abs(): '{}'", type_name(self)));
}

Result<Value> integer(Machine& machine, const Value& self, const Bound& arguments) {
    const Value fallback = arguments.at(0) != nullptr ? *arguments.at(0) : Value(int64_t{0});
    int64_t base = 10;
    if (const Value* given = arguments.at(1)) {
        ETNA_TRY(base, integer_argument(*given));
    }
    if (self.is(Type::undefined))
        return undefined_error(self);
    if (is_number(self) && !self.is(Type::real))
        return negated(machine, self, UnaryOperator::plus);
    std::optional<double> real;
    if (self.is(Type::string)) {
        const std::string& text = self.string();
        const std::size_t digits = std::min(text.size(), integer_digits_max);
        ETNA_CHECK(machine.spend(base == 10 ? text.size() : text.size() + digits * digits));
        if (auto number = parse_integer(text, static_cast<int>(std::clamp<int64_t>(base, -1, 99))))
            return machine.integer(std::move(*number));
        real = parse_real(text);
    } else if (self.is(Type::real)) {
        real = self.real();
    }
    if (real && std::isinf(*real))
        return python_error("OverflowError", "cannot convert float infinity to integer");
    return real && !std::isnan(*real) ? machine.integer(whole_text(*real)) : fallback;
}

Result<Value> real(Machine& /*machine*/, const Value& self, const Bound& arguments) {
    if (self.is(Type::undefined))
        return undefined_error(self);
    if (is_number(self)) {
        ETNA_TRY(const double number, float_of(self));
        return Value(number);
    }
    const auto number = self.is(Type::string) ? parse_real(self.string()) : std::nullopt;
    if (number)
        return Value(*number);
    return arguments.at(0) != nullptr ? *arguments.at(0) : Value(0.0);
}

/// Rounds half to even in decimal, like Python's round().
double rounded(double number, int64_t digits) {
    constexpr int64_t digits_max = 308;
    if (digits > digits_max || !std::isfinite(number))
        return number;
    if (digits < -digits_max)
        return 0;
    if (digits >= 0)
        return *parse_real(fmt::format("{:.{}f}", number, digits));
    const double scale = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(number / scale) * scale;
}

Result<Value> round(Machine& machine, const Value& self, const Bound& arguments) {
    int64_t digits = 0;
    std::string method = "common";
    if (const Value* given = arguments.at(0)) {
        ETNA_TRY(digits, integer_argument(*given));
    }
    if (const Value* given = arguments.at(1)) {
        ETNA_TRY(method, string_argument(*given, "round"));
    }
    if (method != "common" && method != "ceil" && method != "floor")
        return python_error("FilterArgumentError", "method must be common, ceil or floor");
    if (self.is(Type::undefined))
        return type_error("type Undefined doesn't define __round__ method");
    if (!is_number(self))
        return type_error(fmt::format("type {} doesn't define __round__ method", type_name(self)));
    if (method == "common") {
        if (self.is(Type::real))
            return Value(rounded(self.real(), digits));
        if (digits >= 0)
            return negated(machine, self, UnaryOperator::plus);
        const auto places = static_cast<std::size_t>(
            std::min<uint64_t>(0 - static_cast<uint64_t>(digits), integer_digits_max + 2));
        return machine.integer(rounded_text(integer_text(self), places));
    }
    ETNA_TRY(const auto scale, binary(machine, BinaryOperator::power, Value(int64_t{10}), Value(digits)));
    ETNA_TRY(const auto scaled, binary(machine, BinaryOperator::multiply, self, scale));
    const double value = method == "ceil" ? std::ceil(real_of(scaled)) : std::floor(real_of(scaled));
    if (!std::isfinite(value)) {
        return std::isnan(value) ? value_error("cannot convert float NaN to integer")
                                 : python_error("OverflowError", "cannot convert float infinity to integer");
    }
    const Value whole = scaled.is(Type::real) ? Value(value + 0.0) : scaled; // + 0.0 removes a negative zero
    return binary(machine, BinaryOperator::divide, whole, scale);
}

Result<Value> file_size(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const bool is_binary, flag(machine, arguments.at(0), false));
    std::optional<double> bytes;
    if (is_number(self)) {
        ETNA_TRY(bytes, float_of(self));
    } else if (self.is(Type::string)) {
        bytes = parse_real(self.string());
    }
    if (!bytes)
        return value_error("could not convert the value to a number of bytes");
    const double base = is_binary ? 1024 : 1000;
    if (*bytes == 1)
        return machine.text("1 Byte");
    if (std::isinf(*bytes) && *bytes < 0)
        return python_error("OverflowError", "cannot convert float infinity to integer");
    if (*bytes < base)
        return machine.text(whole_text(*bytes) + " Bytes");
    const std::string_view prefixes = is_binary ? "KMGTPEZY" : "kMGTPEZY";
    double unit = base;
    for (std::size_t i = 0; i < prefixes.size(); ++i) {
        unit *= base;
        if (*bytes < unit || i + 1 == prefixes.size()) {
            return machine.text(
                fmt::format("{:.1f} {}{}", base * *bytes / unit, prefixes[i], is_binary ? "iB" : "B"));
        }
    }
    return machine.text("");
}

Result<Value> length(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(const std::size_t count, length_of(machine, self));
    return Value(static_cast<int64_t>(count));
}

Result<Value> word_count(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(const auto text, to_text(machine, self));
    ETNA_CHECK(machine.reserve(text.size()));
    int64_t words = 0;
    bool in_word = false;
    for (std::size_t position = 0; position < text.size();) {
        const Decoded decoded = decode_at(text, position);
        const bool is_letter = is_word_letter(decoded.code_point);
        words += is_letter && !in_word ? 1 : 0;
        in_word = is_letter;
        position += decoded.bytes;
    }
    return Value(words);
}

constexpr Native filters_number_table[] = {
    {"abs", "", 0, absolute},
    {"count", "", 0, length},
    {"filesizeformat", "binary", 0, file_size},
    {"float", "default", 0, real},
    {"int", "default base", 0, integer},
    {"length", "", 0, length},
    {"round", "precision method", 0, round},
    {"wordcount", "", 0, word_count},
};

} // namespace

std::span<const Native> number_filters() {
    return filters_number_table;
}

} // namespace etna::jinja

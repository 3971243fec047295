// Filters about numbers.

#include "core/chat/jinja/errors.hpp"
#include "core/chat/jinja/filters.hpp"
#include "core/chat/jinja/number_text.hpp"
#include "core/chat/jinja/operators.hpp"
#include "core/chat/jinja/print.hpp"
#include "core/chat/jinja/unicode.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace etna::chat::jinja {
namespace {

Result<Value> absolute(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    if (self.is(Type::undefined))
        return type_error("bad operand type for abs(): 'Undefined'");
    if (self.is(Type::real))
        return Value(std::fabs(self.real()));
    if (const auto integer = integer_of(self))
        return *integer < 0 ? negated(self, UnaryOperator::negate) : Result<Value>(Value(*integer));
    return type_error(fmt::format("bad operand type for abs(): '{}'", type_name(self)));
}

/// A float as an integer, towards zero; nothing where it is none or too large.
std::optional<int64_t> whole(double number) {
    if (!(std::fabs(number) < 9.2e18))
        return {};
    return static_cast<int64_t>(number);
}

Result<Value> integer(Machine& /*machine*/, const Value& self, const Bound& arguments) {
    const Value fallback = arguments.at(0) != nullptr ? *arguments.at(0) : Value(int64_t{0});
    int64_t base = 10;
    if (const Value* given = arguments.at(1)) {
        ETNA_TRY(base, integer_argument(*given));
    }
    if (self.is(Type::undefined))
        return undefined_error(self);
    if (const auto number = integer_of(self))
        return Value(*number);
    std::optional<double> real;
    if (self.is(Type::string)) {
        if (const auto number =
                parse_integer(self.string(), static_cast<int>(std::clamp<int64_t>(base, -1, 99))))
            return Value(*number);
        real = parse_real(self.string());
    } else if (self.is(Type::real)) {
        real = self.real();
    }
    if (real && std::isinf(*real))
        return python_error("OverflowError", "cannot convert float infinity to integer");
    const auto number = real ? whole(*real) : std::nullopt;
    if (real && !number && !std::isnan(*real))
        return python_error("OverflowError", "an integer does not fit into 64 bits");
    return number ? Value(*number) : fallback;
}

Result<Value> real(Machine& /*machine*/, const Value& self, const Bound& arguments) {
    if (self.is(Type::undefined))
        return undefined_error(self);
    if (is_number(self))
        return Value(real_of(self));
    const auto number = self.is(Type::string) ? parse_real(self.string()) : std::nullopt;
    if (number)
        return Value(*number);
    return arguments.at(0) != nullptr ? *arguments.at(0) : Value(0.0);
}

/// Half to even, on the decimal digits of the number, as Python's round().
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
            return Value(*integer_of(self));
        return Value(static_cast<int64_t>(rounded(real_of(self), digits)));
    }
    ETNA_TRY(const auto scale, binary(machine, BinaryOperator::power, Value(int64_t{10}), Value(digits)));
    ETNA_TRY(const auto scaled, binary(machine, BinaryOperator::multiply, self, scale));
    const double value = method == "ceil" ? std::ceil(real_of(scaled)) : std::floor(real_of(scaled));
    const auto whole_value = whole(value);
    if (!whole_value)
        return python_error("OverflowError", "cannot convert float to integer");
    return binary(machine, BinaryOperator::divide, Value(*whole_value), scale);
}

Result<Value> file_size(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const bool is_binary, flag(machine, arguments.at(0), false));
    std::optional<double> bytes;
    if (is_number(self)) {
        bytes = real_of(self);
    } else if (self.is(Type::string)) {
        bytes = parse_real(self.string());
    }
    if (!bytes)
        return value_error("could not convert the value to a number of bytes");
    const double base = is_binary ? 1024 : 1000;
    if (*bytes == 1)
        return machine.text("1 Byte");
    if (*bytes < base)
        return machine.text(fmt::format("{} Bytes", static_cast<int64_t>(std::max(*bytes, -9e18))));
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
        const bool is_letter = decoded.code_point == '_' || has(decoded.code_point, Property::alphabetic) ||
                               is_numeric(decoded.code_point);
        words += is_letter && !in_word ? 1 : 0;
        in_word = is_letter;
        position += decoded.bytes;
    }
    return Value(words);
}

constexpr Native table[] = {
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
    return table;
}

} // namespace etna::chat::jinja

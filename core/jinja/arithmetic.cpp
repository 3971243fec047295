// +, -, *, /, //, %, ** and the signs.

#include "core/jinja/errors.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/percent_format.hpp"
#include "core/jinja/print.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

constexpr std::string_view signs[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};

Error unsupported_operands(BinaryOperator sign, const Value& left, const Value& right) {
    return type_error(fmt::format("unsupported operand type(s) for {}: '{}' and '{}'",
                                  signs[static_cast<std::size_t>(sign)], type_name(left), type_name(right)));
}

Error overflow() {
    return python_error("OverflowError", "templates cannot compute integers of more than 64 bits");
}

Error division_by_zero(std::string_view message) {
    return python_error("ZeroDivisionError", message);
}

int64_t floor_quotient(int64_t left, int64_t right) {
    const int64_t quotient = left / right;
    return left % right != 0 && (left < 0) != (right < 0) ? quotient - 1 : quotient;
}

double floor_remainder(double left, double right) {
    const double remainder = std::fmod(left, right);
    if (remainder == 0)
        return std::copysign(0.0, right);
    return (remainder < 0) != (right < 0) ? remainder + right : remainder;
}

double floor_quotient(double left, double right) {
    const double remainder = floor_remainder(left, right);
    const double quotient = (left - remainder) / right;
    if (quotient == 0)
        return std::copysign(0.0, left / right);
    const double floored = std::floor(quotient);
    return quotient - floored > 0.5 ? floored + 1 : floored;
}

Result<Value> real_power(double left, double right) {
    if (left == 0 && right < 0)
        return division_by_zero("0.0 cannot be raised to a negative power");
    if (left < 0 && std::floor(right) != right && std::isfinite(left) && std::isfinite(right))
        return python_error("ValueError", "complex numbers are not supported");
    const double result = std::pow(left, right);
    if (std::isinf(result) && std::isfinite(left) && std::isfinite(right))
        return python_error("OverflowError", "(34, 'Numerical result out of range')");
    return Value(result);
}

Result<Value> integer_power(int64_t base, int64_t exponent) {
    if (exponent < 0)
        return real_power(static_cast<double>(base), static_cast<double>(exponent));
    int64_t result = 1;
    while (true) {
        if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result))
            return overflow();
        exponent >>= 1;
        if (exponent == 0)
            return Value(result);
        if (__builtin_mul_overflow(base, base, &base))
            return overflow();
    }
}

Result<Value> on_integers(BinaryOperator sign, int64_t left, int64_t right) {
    int64_t result = 0;
    switch (sign) {
    case BinaryOperator::add:
        return __builtin_add_overflow(left, right, &result) ? Result<Value>(overflow()) : Value(result);
    case BinaryOperator::subtract:
        return __builtin_sub_overflow(left, right, &result) ? Result<Value>(overflow()) : Value(result);
    case BinaryOperator::multiply:
        return __builtin_mul_overflow(left, right, &result) ? Result<Value>(overflow()) : Value(result);
    case BinaryOperator::divide:
        if (right == 0)
            return division_by_zero("division by zero");
        return Value(static_cast<double>(static_cast<long double>(left) / static_cast<long double>(right)));
    case BinaryOperator::floor_divide:
        if (right == 0)
            return division_by_zero("integer division or modulo by zero");
        if (right == -1)
            return on_integers(BinaryOperator::subtract, 0, left);
        return Value(floor_quotient(left, right));
    case BinaryOperator::modulo:
        if (right == 0)
            return division_by_zero("integer modulo by zero");
        if (right == -1)
            return Value(int64_t{0});
        return Value(left - floor_quotient(left, right) * right);
    case BinaryOperator::power:
        return integer_power(left, right);
    }
    return overflow();
}

Result<Value> on_reals(BinaryOperator sign, double left, double right) {
    switch (sign) {
    case BinaryOperator::add:
        return Value(left + right);
    case BinaryOperator::subtract:
        return Value(left - right);
    case BinaryOperator::multiply:
        return Value(left * right);
    case BinaryOperator::divide:
        if (right == 0)
            return division_by_zero("float division by zero");
        return Value(left / right);
    case BinaryOperator::floor_divide:
        if (right == 0)
            return division_by_zero("float floor division by zero");
        return Value(floor_quotient(left, right));
    case BinaryOperator::modulo:
        if (right == 0)
            return division_by_zero("float modulo");
        return Value(floor_remainder(left, right));
    case BinaryOperator::power:
        return real_power(left, right);
    }
    return overflow();
}

/// Concatenates strings; if one of them is markup, escapes the other first.
Result<Value> joined_strings(Machine& machine, const Value& left, const Value& right) {
    const bool markup = left.is_markup() || right.is_markup();
    ETNA_CHECK(machine.reserve(left.string().size() + right.string().size()));
    const auto part = [&](const Value& value) {
        return markup && !value.is_markup() ? escaped(value.string()) : value.string();
    };
    std::string text = part(left);
    text += part(right);
    return machine.text(std::move(text), markup);
}

Result<Value> joined(Machine& machine, const Value& left, const Value& right) {
    if (left.is(Type::string) && right.is(Type::string))
        return joined_strings(machine, left, right);
    if (left.is_sequence() && left.type() == right.type()) {
        std::vector<Value> items = left.sequence()->items;
        items.insert(items.end(), right.sequence()->items.begin(), right.sequence()->items.end());
        return left.is(Type::list) ? machine.list(std::move(items)) : machine.tuple(std::move(items));
    }
    if (left.is_sequence()) {
        return type_error(fmt::format("can only concatenate {} (not \"{}\") to {}", type_name(left),
                                      type_name(right), type_name(left)));
    }
    if (left.is(Type::string)) {
        return type_error(fmt::format("can only concatenate str (not \"{}\") to str", type_name(right)));
    }
    return unsupported_operands(BinaryOperator::add, left, right);
}

Result<Value> repeated(Machine& machine, const Value& value, int64_t times) {
    const auto count = static_cast<std::size_t>(std::max<int64_t>(times, 0));
    const std::size_t size =
        value.is(Type::string) ? value.string().size() : value.sequence()->items.size() * sizeof(Value);
    if (size > 0 && count > machine.limits().live_bytes / size)
        return machine.reserve(machine.limits().live_bytes + 1).error();
    ETNA_CHECK(machine.reserve(size * count));
    if (value.is(Type::string)) {
        std::string text;
        text.reserve(size * count);
        for (std::size_t i = 0; size > 0 && i < count; ++i)
            text += value.string();
        return machine.text(std::move(text), value.is_markup());
    }
    const auto& source = value.sequence()->items;
    std::vector<Value> items;
    items.reserve(source.size() * count);
    for (std::size_t i = 0; size > 0 && i < count; ++i)
        items.insert(items.end(), source.begin(), source.end());
    return value.is(Type::list) ? machine.list(std::move(items)) : machine.tuple(std::move(items));
}

Result<Value> multiplied(Machine& machine, const Value& left, const Value& right) {
    const auto is_repeatable = [](const Value& value) {
        return value.is(Type::string) || value.is_sequence();
    };
    if ((is_repeatable(left) && right.is(Type::large)) || (is_repeatable(right) && left.is(Type::large)))
        return python_error("OverflowError", "cannot fit 'int' into an index-sized integer");
    if (is_repeatable(left) && integer_of(right))
        return repeated(machine, left, *integer_of(right));
    if (is_repeatable(right) && integer_of(left))
        return repeated(machine, right, *integer_of(left));
    if (is_repeatable(left) || is_repeatable(right)) {
        return type_error(fmt::format("can't multiply sequence by non-int of type '{}'",
                                      type_name(is_repeatable(left) ? right : left)));
    }
    return unsupported_operands(BinaryOperator::multiply, left, right);
}

} // namespace

Result<Value> binary(Machine& machine, BinaryOperator sign, const Value& left, const Value& right) {
    if (sign == BinaryOperator::modulo && left.is(Type::string))
        return percent_format(machine, left, right);
    if (left.is(Type::undefined) || right.is(Type::undefined))
        return undefined_error(left.is(Type::undefined) ? left : right);
    if (is_number(left) && is_number(right)) {
        if (left.is(Type::real) || right.is(Type::real)) {
            ETNA_TRY(const double first, float_of(left));
            ETNA_TRY(const double second, float_of(right));
            return on_reals(sign, first, second);
        }
        if (left.is(Type::large) || right.is(Type::large))
            return overflow();
        return on_integers(sign, *integer_of(left), *integer_of(right));
    }
    if (sign == BinaryOperator::add)
        return joined(machine, left, right);
    if (sign == BinaryOperator::multiply)
        return multiplied(machine, left, right);
    return unsupported_operands(sign, left, right);
}

Result<double> float_of(const Value& number) {
    const double real = real_of(number);
    if (number.is(Type::large) && std::isinf(real))
        return python_error("OverflowError", "int too large to convert to float");
    return real;
}

Result<Value> negated(Machine& machine, const Value& value, UnaryOperator sign) {
    const bool is_negation = sign == UnaryOperator::negate;
    if (value.is(Type::undefined))
        return undefined_error(value);
    if (value.is(Type::real))
        return Value(is_negation ? -value.real() : value.real());
    if (!is_number(value)) {
        return type_error(
            fmt::format("bad operand type for unary {}: '{}'", is_negation ? '-' : '+', type_name(value)));
    }
    const auto integer = integer_of(value);
    if (!is_negation)
        return integer ? Value(*integer) : value;
    if (integer && *integer != std::numeric_limits<int64_t>::min())
        return Value(-*integer);
    const std::string text = integer_text(value);
    return machine.integer(text[0] == '-' ? text.substr(1) : "-" + text);
}

} // namespace etna::jinja

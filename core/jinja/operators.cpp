#include "core/jinja/operators.hpp"

#include "core/jinja/numbers.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

constexpr std::string_view order_signs[] = {"==", "!=", "<", "<=", ">", ">="};

bool holds(Comparison sign, int order) {
    switch (sign) {
    case Comparison::less:
        return order == -1;
    case Comparison::less_equal:
        return order == -1 || order == 0;
    case Comparison::greater:
        return order == 1;
    case Comparison::greater_equal:
        return order == 1 || order == 0;
    default:
        return false;
    }
}

Result<bool> sequences_ordered(Machine& machine, Comparison sign, const List& left, const List& right) {
    const std::size_t common = std::min(left.items.size(), right.items.size());
    for (std::size_t i = 0; i < common; ++i) {
        ETNA_TRY(const bool same, equal(machine, left.items[i], right.items[i]));
        if (!same)
            return ordered(machine, sign, left.items[i], right.items[i]);
    }
    const std::size_t first = left.items.size();
    const std::size_t second = right.items.size();
    return holds(sign, first < second ? -1 : (first > second ? 1 : 0));
}

Result<bool> dicts_equal(Machine& machine, const Dict& left, const Dict& right) {
    if (left.entries.size() != right.entries.size())
        return false;
    for (const Dict::Entry& entry : left.entries) {
        const Value* other = right.find(entry.key);
        if (other == nullptr)
            return false;
        ETNA_TRY(const bool same, equal(machine, entry.value, *other));
        if (!same)
            return false;
    }
    return true;
}

constexpr std::string_view arithmetic_signs[] = {"+", "-", "*", "/", "//", "%"};

Error unsupported_operands(Operator sign, const Value& left, const Value& right) {
    return type_error("unsupported operand type(s) for {}: '{}' and '{}'",
                      arithmetic_signs[static_cast<std::size_t>(sign)], type_name(left), type_name(right));
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

Result<Value> on_integers(Operator sign, int64_t left, int64_t right) {
    int64_t result = 0;
    switch (sign) {
    case Operator::add:
        return __builtin_add_overflow(left, right, &result) ? Result<Value>(overflow_error()) : Value(result);
    case Operator::subtract:
        return __builtin_sub_overflow(left, right, &result) ? Result<Value>(overflow_error()) : Value(result);
    case Operator::multiply:
        return __builtin_mul_overflow(left, right, &result) ? Result<Value>(overflow_error()) : Value(result);
    case Operator::divide:
        if (right == 0)
            return python_error("ZeroDivisionError", "division by zero");
        return Value(static_cast<double>(static_cast<long double>(left) / static_cast<long double>(right)));
    case Operator::floor_divide:
        if (right == 0)
            return python_error("ZeroDivisionError", "integer division or modulo by zero");
        if (right == -1)
            return on_integers(Operator::subtract, 0, left);
        return Value(floor_quotient(left, right));
    default: // modulo
        if (right == 0)
            return python_error("ZeroDivisionError", "integer modulo by zero");
        if (right == -1)
            return Value(int64_t{0});
        return Value(left - floor_quotient(left, right) * right);
    }
}

Result<Value> on_reals(Operator sign, double left, double right) {
    switch (sign) {
    case Operator::add:
        return Value(left + right);
    case Operator::subtract:
        return Value(left - right);
    case Operator::multiply:
        return Value(left * right);
    case Operator::divide:
        if (right == 0)
            return python_error("ZeroDivisionError", "float division by zero");
        return Value(left / right);
    case Operator::floor_divide:
        if (right == 0)
            return python_error("ZeroDivisionError", "float floor division by zero");
        return Value(floor_quotient(left, right));
    default: // modulo
        if (right == 0)
            return python_error("ZeroDivisionError", "float modulo");
        return Value(floor_remainder(left, right));
    }
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
        return type_error("can only concatenate {} (not \"{}\") to {}", type_name(left), type_name(right),
                          type_name(left));
    }
    if (left.is(Type::string))
        return type_error("can only concatenate str (not \"{}\") to str", type_name(right));
    return unsupported_operands(Operator::add, left, right);
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
    if (is_repeatable(left) && integer_of(right))
        return repeated(machine, left, *integer_of(right));
    if (is_repeatable(right) && integer_of(left))
        return repeated(machine, right, *integer_of(left));
    if (is_repeatable(left) || is_repeatable(right)) {
        return type_error("can't multiply sequence by non-int of type '{}'",
                          type_name(is_repeatable(left) ? right : left));
    }
    return unsupported_operands(Operator::multiply, left, right);
}

} // namespace

Error undefined_error(const Value& value) {
    const Missing* missing = value.missing();
    std::string message = "value is undefined";
    if (missing != nullptr && !missing->hint.empty()) {
        message = missing->hint;
    } else if (missing != nullptr) {
        const bool is_name = missing->name.is(Type::string);
        const std::string name = is_name                           ? string_repr(missing->name.string())
                                 : missing->name.is(Type::integer) ? integer_text(missing->name)
                                                                   : std::string(type_name(missing->name));
        if (missing->owner.empty()) {
            message = name + " is undefined";
        } else if (is_name) {
            message = fmt::format("{} has no attribute {}", string_repr(missing->owner), name);
        } else {
            message = fmt::format("{} has no element {}", missing->owner, name);
        }
    }
    return python_error("UndefinedError", "{}", message);
}

Result<bool> equal(Machine& machine, const Value& left, const Value& right) {
    const DepthGuard guard(machine.levels());
    ETNA_CHECK(machine.check_recursion());
    ETNA_CHECK(machine.spend(step_work));
    const bool has_large = left.is(Type::large) || right.is(Type::large);
    if (has_large && (left.is(Type::real) || right.is(Type::real)))
        return overflow_error();
    if (is_number(left) && is_number(right) && !has_large)
        return number_order(left, right) == 0;
    if (left.type() != right.type())
        return false;
    if (left.is(Type::undefined))
        return true;
    if (left.is(Type::string))
        return left.string() == right.string();
    if (left.is(Type::dict))
        return dicts_equal(machine, *left.dict(), *right.dict());
    if (left.is(Type::object) && left.object()->iterate())
        return type_error("'{}' objects cannot be compared", type_name(left));
    if (!left.is_sequence())
        return left.same_as(right);
    const auto& first = left.sequence()->items;
    const auto& second = right.sequence()->items;
    if (first.size() != second.size())
        return false;
    for (std::size_t i = 0; i < first.size(); ++i) {
        if (first[i].same_as(second[i]))
            continue;
        ETNA_TRY(const bool same, equal(machine, first[i], second[i]));
        if (!same)
            return false;
    }
    return true;
}

Result<bool> ordered(Machine& machine, Comparison sign, const Value& left, const Value& right) {
    const DepthGuard guard(machine.levels());
    ETNA_CHECK(machine.check_recursion());
    ETNA_CHECK(machine.spend(step_work));
    if (left.is(Type::large) || right.is(Type::large))
        return overflow_error();
    if (is_number(left) && is_number(right))
        return holds(sign, number_order(left, right));
    if (left.is(Type::string) && right.is(Type::string)) {
        const int order = left.string().compare(right.string()); // UTF-8 bytes sort in code point order
        return holds(sign, order < 0 ? -1 : (order > 0 ? 1 : 0));
    }
    if (left.is_sequence() && left.type() == right.type())
        return sequences_ordered(machine, sign, *left.sequence(), *right.sequence());
    if (left.is(Type::undefined) || right.is(Type::undefined))
        return undefined_error(left.is(Type::undefined) ? left : right);
    return type_error("'{}' not supported between instances of '{}' and '{}'",
                      order_signs[static_cast<std::size_t>(sign)], type_name(left), type_name(right));
}

Result<bool> contains(Machine& machine, const Value& container, const Value& item) {
    if (container.is(Type::string)) {
        if (!item.is(Type::string))
            return type_error("'in <string>' requires string as left operand, not {}", type_name(item));
        ETNA_CHECK(machine.spend(search_work * container.string().size()));
        return find_in(container.string(), item.string()) != std::string::npos;
    }
    if (container.is(Type::dict)) {
        if (!is_hashable(item))
            return type_error("unhashable type: '{}'", type_name(item));
        return container.dict()->find(item) != nullptr;
    }
    if (!is_iterable(container))
        return type_error("argument of type '{}' is not iterable", type_name(container));
    ETNA_TRY(const auto cursor, iterate(container));
    while (true) {
        ETNA_TRY(const auto next, cursor(machine));
        if (!next)
            return false;
        ETNA_TRY(const bool same, equal(machine, *next, item));
        if (same || next->same_as(item))
            return true;
    }
}

Result<bool> compare(Machine& machine, Comparison sign, const Value& left, const Value& right) {
    switch (sign) {
    case Comparison::equal:
        return equal(machine, left, right);
    case Comparison::unequal: {
        ETNA_TRY(const bool same, equal(machine, left, right));
        return !same;
    }
    case Comparison::in:
        return contains(machine, right, left);
    case Comparison::not_in: {
        ETNA_TRY(const bool found, contains(machine, right, left));
        return !found;
    }
    default:
        return ordered(machine, sign, left, right);
    }
}

Result<bool> is_true(Machine& machine, const Value& value) {
    switch (value.type()) {
    case Type::undefined:
    case Type::none:
        return false;
    case Type::boolean:
        return value.boolean();
    case Type::integer:
        return value.integer() != 0;
    case Type::large:
        return true;
    case Type::real:
        return value.real() != 0;
    case Type::string:
        return !value.string().empty();
    case Type::list:
    case Type::tuple:
        return !value.sequence()->items.empty();
    case Type::dict:
        return !value.dict()->entries.empty();
    case Type::object:
        break;
    }
    ETNA_TRY(const auto length, value.object()->length(machine));
    return !length || *length > 0;
}

Result<std::size_t> length_of(Machine& machine, const Value& value) {
    if (value.is(Type::undefined))
        return std::size_t{0};
    if (value.is(Type::string)) {
        ETNA_CHECK(machine.spend(value.string().size()));
        return count_code_points(value.string());
    }
    if (value.is_sequence())
        return value.sequence()->items.size();
    if (value.is(Type::dict))
        return value.dict()->entries.size();
    if (value.is(Type::object)) {
        ETNA_TRY(const auto length, value.object()->length(machine));
        if (length)
            return *length;
    }
    return type_error("object of type '{}' has no len()", type_name(value));
}

Result<Value> call(Machine& machine, const Value& callee, Arguments arguments) {
    if (callee.is(Type::undefined))
        return undefined_error(callee);
    if (!callee.is(Type::object) || !callee.object()->is_callable())
        return type_error("'{}' object is not callable", type_name(callee));
    const DepthGuard guard(machine.levels());
    ETNA_CHECK(machine.check_recursion());
    return callee.object()->call(machine, std::move(arguments));
}

Result<Value> binary(Machine& machine, Operator sign, const Value& left, const Value& right) {
    if (sign == Operator::modulo && left.is(Type::string))
        return percent_format(machine, left, right);
    if (left.is(Type::undefined) || right.is(Type::undefined))
        return undefined_error(left.is(Type::undefined) ? left : right);
    if (is_number(left) && is_number(right)) {
        if (left.is(Type::large) || right.is(Type::large))
            return overflow_error();
        if (left.is(Type::real) || right.is(Type::real))
            return on_reals(sign, real_of(left), real_of(right));
        return on_integers(sign, *integer_of(left), *integer_of(right));
    }
    if (sign == Operator::add)
        return joined(machine, left, right);
    if (sign == Operator::multiply)
        return multiplied(machine, left, right);
    return unsupported_operands(sign, left, right);
}

Result<Value> negated(const Value& value, Operator sign) {
    const bool is_negation = sign == Operator::negate;
    if (value.is(Type::undefined))
        return undefined_error(value);
    if (value.is(Type::real))
        return Value(is_negation ? -value.real() : value.real());
    if (!is_number(value))
        return type_error("bad operand type for unary {}: '{}'", is_negation ? '-' : '+', type_name(value));
    const auto integer = integer_of(value);
    if (!is_negation)
        return integer ? Value(*integer) : value;
    return integer ? on_integers(Operator::subtract, 0, *integer) : Result<Value>(overflow_error());
}

} // namespace etna::jinja

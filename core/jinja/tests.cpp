#include "core/jinja/tests.hpp"

#include "core/jinja/errors.hpp"
#include "core/jinja/filters.hpp"
#include "core/jinja/native.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/operators.hpp"
#include "core/jinja/print.hpp"
#include "core/jinja/unicode.hpp"

#include <fmt/format.h>

namespace etna::jinja {
namespace {

template <Type type>
Result<Value> has_type(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    return Value(self.is(type));
}

template <Comparison sign>
Result<Value> compares(Machine& machine, const Value& self, const Bound& arguments) {
    ETNA_TRY(const bool holds, compare(machine, sign, self, *arguments.at(0)));
    return Value(holds);
}

Result<Value> remainder_is(Machine& machine, const Value& self, const Value& divisor, int64_t wanted) {
    ETNA_TRY(const auto remainder, binary(machine, BinaryOperator::modulo, self, divisor));
    ETNA_TRY(const bool same, equal(machine, remainder, Value(wanted)));
    return Value(same);
}

Result<Value> odd(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    return remainder_is(machine, self, Value(int64_t{2}), 1);
}

Result<Value> even(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    return remainder_is(machine, self, Value(int64_t{2}), 0);
}

Result<Value> divisible(Machine& machine, const Value& self, const Bound& arguments) {
    return remainder_is(machine, self, *arguments.at(0), 0);
}

Result<Value> defined(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    return Value(!self.is(Type::undefined));
}

template <bool wanted>
Result<Value> truth(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    return Value(self.is(Type::boolean) && self.boolean() == wanted);
}

Result<Value> integer(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    return Value(self.is(Type::integer) || self.is(Type::large));
}

Result<Value> number(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    return Value(is_number(self));
}

Result<Value> callable(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    return Value(self.is(Type::undefined) || (self.is(Type::object) && self.object()->is_callable()));
}

/// Whether the value has a length and items; true for dicts, as in the reference.
Result<Value> sequence(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    return Value(self.is(Type::undefined) || self.is(Type::string) || self.is_sequence() ||
                 self.is(Type::dict) || (self.is(Type::object) && self.object()->is_indexable()));
}

Result<Value> iterable(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    return Value(is_iterable(machine, self));
}

Result<Value> same_as(Machine& /*machine*/, const Value& self, const Bound& arguments) {
    return Value(self.same_as(*arguments.at(0)));
}

Result<Value> is_markup(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    return Value(self.is_markup());
}

/// Whether some letter has the case `wanted` and none has `other`.
template <Property wanted, Property other>
Result<Value> has_case(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(const auto text, to_text(machine, self));
    bool found = false;
    for (const char32_t letter : decode(text)) {
        if (has(letter, other) || has(letter, Property::title))
            return Value(false);
        found = found || has(letter, wanted);
    }
    return Value(found);
}

template <bool (*exists)(std::string_view)>
Result<Value> named(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    if (!is_hashable(self))
        return type_error(fmt::format("unhashable type: '{}'", type_name(self)));
    return Value(self.is(Type::string) && exists(self.string()));
}

constexpr Native tests_table[] = {
    {"!=", "other", 1, compares<Comparison::unequal>},
    {"<", "other", 1, compares<Comparison::less>},
    {"<=", "other", 1, compares<Comparison::less_equal>},
    {"==", "other", 1, compares<Comparison::equal>},
    {">", "other", 1, compares<Comparison::greater>},
    {">=", "other", 1, compares<Comparison::greater_equal>},
    {"boolean", "", 0, has_type<Type::boolean>},
    {"callable", "", 0, callable},
    {"defined", "", 0, defined},
    {"divisibleby", "num", 1, divisible},
    {"eq", "other", 1, compares<Comparison::equal>},
    {"equalto", "other", 1, compares<Comparison::equal>},
    {"escaped", "", 0, is_markup},
    {"even", "", 0, even},
    {"false", "", 0, truth<false>},
    {"filter", "", 0, named<is_filter>},
    {"float", "", 0, has_type<Type::real>},
    {"ge", "other", 1, compares<Comparison::greater_equal>},
    {"greaterthan", "other", 1, compares<Comparison::greater>},
    {"gt", "other", 1, compares<Comparison::greater>},
    {"in", "seq", 1, compares<Comparison::in>},
    {"integer", "", 0, integer},
    {"iterable", "", 0, iterable},
    {"le", "other", 1, compares<Comparison::less_equal>},
    {"lessthan", "other", 1, compares<Comparison::less>},
    {"lower", "", 0, has_case<Property::lower, Property::upper>},
    {"lt", "other", 1, compares<Comparison::less>},
    {"mapping", "", 0, has_type<Type::dict>},
    {"ne", "other", 1, compares<Comparison::unequal>},
    {"none", "", 0, has_type<Type::none>},
    {"number", "", 0, number},
    {"odd", "", 0, odd},
    {"sameas", "other", 1, same_as},
    {"sequence", "", 0, sequence},
    {"string", "", 0, has_type<Type::string>},
    {"test", "", 0, named<is_test>},
    {"true", "", 0, truth<true>},
    {"undefined", "", 0, has_type<Type::undefined>},
    {"upper", "", 0, has_case<Property::upper, Property::lower>},
};

} // namespace

bool is_test(std::string_view name) {
    return find_native(tests_table, name) != nullptr;
}

Result<Value> call_test(Machine& machine, std::string_view name, const Value& value, Arguments arguments) {
    const Native* test = find_native(tests_table, name);
    if (test == nullptr)
        return python_error("TemplateRuntimeError", fmt::format("No test named '{}' found.", name));
    return call_native(machine, *test, value, std::move(arguments));
}

} // namespace etna::jinja

// Attributes and methods of int and float.

#include "core/jinja/errors.hpp"
#include "core/jinja/methods.hpp"
#include "core/jinja/numbers.hpp"
#include "core/jinja/operators.hpp"

#include <bit>
#include <cmath>

namespace etna::jinja {
namespace {

Result<Value> conjugate(Machine& machine, const Value& self, const Bound& /*arguments*/) {
    return negated(machine, self, UnaryOperator::plus);
}

Result<Value> is_integer(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    return Value(std::isfinite(self.real()) && std::floor(self.real()) == self.real());
}

/// Returns the absolute value of an integer.
Result<uint64_t> magnitude(const Value& self) {
    const auto number = integer_of(self);
    if (!number)
        return python_error("OverflowError", "templates cannot count the bits of so large an integer");
    return *number < 0 ? 0 - static_cast<uint64_t>(*number) : static_cast<uint64_t>(*number);
}

Result<Value> bit_count(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(const uint64_t bits, magnitude(self));
    return Value(static_cast<int64_t>(std::popcount(bits)));
}

Result<Value> bit_length(Machine& /*machine*/, const Value& self, const Bound& /*arguments*/) {
    ETNA_TRY(const uint64_t bits, magnitude(self));
    return Value(static_cast<int64_t>(std::bit_width(bits)));
}

constexpr Native of_reals[] = {{"conjugate", "", 0, conjugate}, {"is_integer", "", 0, is_integer}};
constexpr Native of_integers[] = {
    {"bit_count", "", 0, bit_count}, {"bit_length", "", 0, bit_length}, {"conjugate", "", 0, conjugate}};

} // namespace

std::span<const Native> number_methods(Type type) {
    return type == Type::real ? std::span<const Native>(of_reals) : std::span<const Native>(of_integers);
}

Result<std::optional<Value>> number_attribute(Machine& machine, const Value& number, std::string_view name) {
    const bool is_real = number.is(Type::real);
    if (name == "real" || (name == "numerator" && !is_real)) {
        ETNA_TRY(auto same, negated(machine, number, UnaryOperator::plus));
        return std::optional<Value>(std::move(same));
    }
    if (name == "imag")
        return std::optional<Value>(is_real ? Value(0.0) : Value(int64_t{0}));
    if (name == "denominator" && !is_real)
        return std::optional<Value>(int64_t{1});
    return std::optional<Value>();
}

} // namespace etna::jinja

#pragma once

#include "core/base/result.hpp"
#include "core/jinja/ast.hpp"
#include "core/jinja/machine.hpp"

#include <memory>

/// Python's operators on values. Errors (kind unsupported) carry Python's message.
namespace etna::jinja {

Result<Value> binary(Machine& machine, BinaryOperator sign, const Value& left, const Value& right);
/// Python's float() of a number; OverflowError for an int out of float range.
Result<double> float_of(const Value& number);
Result<Value> negated(Machine& machine, const Value& value, UnaryOperator sign);

Result<bool> equal(Machine& machine, const Value& left, const Value& right);
/// `sign` is one of the four ordering comparisons.
Result<bool> ordered(Machine& machine, Comparison sign, const Value& left, const Value& right);
Result<bool> contains(Machine& machine, const Value& container, const Value& item);
Result<bool> compare(Machine& machine, Comparison sign, const Value& left, const Value& right);

Result<bool> is_true(Machine& machine, const Value& value);
Result<std::size_t> length_of(Machine& machine, const Value& value);
/// TypeError if the value is not iterable.
Result<std::unique_ptr<Cursor>> iterate(Machine& machine, const Value& value);
/// Iterates from the last item to the first; returns null if Python's reversed() raises.
Result<std::unique_ptr<Cursor>> iterate_reversed(Machine& machine, const Value& value);
bool is_iterable(Machine& machine, const Value& value);
Result<std::vector<Value>> items_of(Machine& machine, const Value& value);
Result<Value> call(Machine& machine, const Value& callee, Arguments arguments);

/// Returns the error for the use of an undefined value. Precondition: value.is(Type::undefined).
Error undefined_error(const Value& value);

/// Cursor over items that it owns.
class VectorCursor final : public Cursor {
public:
    explicit VectorCursor(std::vector<Value> items) : items_(std::move(items)) {}

    Result<std::optional<Value>> next(Machine& /*machine*/) override {
        if (place_ == items_.size())
            return std::optional<Value>();
        return std::optional<Value>(items_[place_++]);
    }

private:
    std::vector<Value> items_;
    std::size_t place_ = 0;
};

} // namespace etna::jinja

#pragma once

#include "core/base/result.hpp"
#include "core/jinja/ast.hpp"
#include "core/jinja/machine.hpp"

/// Python's operators on values. Errors (kind unsupported) carry Python's message.
namespace etna::jinja {

Result<Value> binary(Machine& machine, Operator sign, const Value& left, const Value& right);
/// Python's float() of a number; OverflowError for an int out of float range.
Result<double> float_of(const Value& number);
Result<Value> negated(Machine& machine, const Value& value, Operator sign);

Result<bool> equal(Machine& machine, const Value& left, const Value& right);
/// `sign` is one of the four ordering comparisons.
Result<bool> ordered(Machine& machine, Comparison sign, const Value& left, const Value& right);
Result<bool> contains(Machine& machine, const Value& container, const Value& item);
Result<bool> compare(Machine& machine, Comparison sign, const Value& left, const Value& right);

Result<bool> is_true(Machine& machine, const Value& value);
Result<std::size_t> length_of(Machine& machine, const Value& value);
Result<Value> call(Machine& machine, const Value& callee, Arguments arguments);

bool is_iterable(const Value& value);
/// TypeError if the value is not iterable.
Result<Cursor> iterate(const Value& value);
/// Iterates from the last item to the first; returns an empty cursor if Python's reversed() raises.
Result<Cursor> iterate_reversed(Machine& machine, const Value& value);
Cursor iterate_items(std::vector<Value> items);
/// Runs the cursor to its end and returns the items.
Result<std::vector<Value>> collect(Machine& machine, const Cursor& cursor);
Result<std::vector<Value>> items_of(Machine& machine, const Value& value);

/// Returns the error for the use of an undefined value. Precondition: value.is(Type::undefined).
Error undefined_error(const Value& value);

} // namespace etna::jinja

#pragma once

#include "core/base/result.hpp"
#include "core/jinja/ast.hpp"
#include "core/jinja/machine.hpp"

/// Python's operators and iteration on values. Errors (kind unsupported) carry Python's message.
namespace etna::jinja {

Result<Value> binary(Machine& machine, Operator sign, const Value& left, const Value& right);
Result<Value> negated(const Value& value, Operator sign);

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
Cursor iterate_items(std::vector<Value> items);
/// Runs the cursor to its end and returns the items.
Result<std::vector<Value>> collect(Machine& machine, const Cursor& cursor);
Result<std::vector<Value>> items_of(Machine& machine, const Value& value);
/// Returns the items of a list, tuple or range; null for other values.
const List* indexed_items(const Value& value);

/// Implements range(stop), range(start, stop) and range(start, stop, step). Errors: those of Python, and
/// OverflowError for a range longer than the limit.
Result<Value> make_range(Machine& machine, const Arguments& arguments);
enum class View : uint8_t { items, keys, values };
/// Returns dict.items(), keys() or values(), which later changes of the dict affect.
Result<Value> make_view(Machine& machine, const Value& dict, View view);
/// Returns a single-pass iterable over the items.
Result<Value> make_generator(Machine& machine, std::vector<Value> items);
/// Returns the entries of a dict as pairs. Precondition: dict.is(Type::dict).
Result<std::vector<Value>> pairs_of(Machine& machine, const Value& dict);

/// Returns the error for the use of an undefined value. Precondition: value.is(Type::undefined).
Error undefined_error(const Value& value);

} // namespace etna::jinja

#pragma once

#include "core/jinja/access.hpp"
#include "core/jinja/machine.hpp"

/// Iterable values other than lists: ranges, dict views and generators.
namespace etna::jinja {

enum class View : uint8_t { keys, values, items };
Cursor iterate_dict(std::shared_ptr<Dict> dict, View view, bool is_reversed);
/// Precondition: dict.is(Type::dict).
Result<Value> make_view(Machine& machine, const Value& dict, View view);

/// Implements range(stop), range(start, stop) and range(start, stop, step). Errors: those of Python, and
/// OverflowError for a range longer than the limit.
Result<Value> make_range(Machine& machine, const Arguments& arguments);
/// Precondition: `range` comes from make_range().
Result<Value> sliced_range(Machine& machine, const Value& range, const SlicePositions& positions);

/// Returns a single-pass iterable over the cursor's items. `name` is the name of the function that created
/// it, for printing; `depth` is the depth of the values that the cursor holds, plus one.
Result<Value> make_generator(Machine& machine, std::string_view name, std::size_t depth, Cursor cursor);

} // namespace etna::jinja

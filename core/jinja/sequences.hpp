#pragma once

#include "core/jinja/access.hpp"
#include "core/jinja/machine.hpp"

#include <functional>

/// Iterable values other than lists: ranges, dict views and generators.
namespace etna::jinja {

/// Implements range(stop), range(start, stop) and range(start, stop, step). Errors: those of Python, and
/// OverflowError for a range longer than the limit.
Result<Value> make_range(Machine& machine, const Arguments& arguments);
/// Precondition: `range` comes from make_range().
Result<Value> sliced_range(Machine& machine, const Value& range, const SlicePlaces& places);

enum class View : uint8_t { keys, values, items };
/// Precondition: dict.is(Type::dict).
Result<Value> make_view(Machine& machine, const Value& dict, View view);

/// Returns a single-pass iterable; `next` returns one item per call, then nothing. `name` is the name of the
/// function that created it, for printing; `depth` is the depth of the values that `next` holds, plus one.
using NextItem = std::function<Result<std::optional<Value>>(Machine& machine)>;
Result<Value> make_generator(Machine& machine, std::string_view name, std::size_t depth, NextItem next);

} // namespace etna::jinja

#pragma once

#include "core/chat/jinja/access.hpp"
#include "core/chat/jinja/machine.hpp"

#include <functional>

/// Values that give items without being lists: ranges, views of dicts and generators.
namespace etna::chat::jinja {

/// range(stop), range(start, stop) or range(start, stop, step). Errors: those of Python, and OverflowError
/// for a range longer than the limits allow.
Result<Value> make_range(Machine& machine, const Arguments& arguments);
/// Precondition: `range` comes from make_range().
Result<Value> sliced_range(Machine& machine, const Value& range, const SlicePlaces& places);

enum class View : uint8_t { keys, values, items };
/// Precondition: dict.is(Type::dict).
Result<Value> make_view(Machine& machine, const Value& dict, View view);

/// A value that can be iterated once; `next` gives item after item, then nothing. `name` is that of the
/// function that made it, for printing; `depth` that of the values that `next` holds, plus one.
using NextItem = std::function<Result<std::optional<Value>>(Machine& machine)>;
Result<Value> make_generator(Machine& machine, std::string_view name, std::size_t depth, NextItem next);

} // namespace etna::chat::jinja

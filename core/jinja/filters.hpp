#pragma once

#include "core/jinja/machine.hpp"
#include "core/jinja/native.hpp"

#include <string_view>

namespace etna::jinja {

bool is_filter(std::string_view name);

/// Evaluates `value | name(arguments)`.
Result<Value> call_filter(Machine& machine, std::string_view name, const Value& value, Arguments arguments);

// The filters by subject.
std::span<const Native> text_filters();      ///< string to string
std::span<const Native> wrap_filters();      ///< wordwrap
std::span<const Native> pretty_filters();    ///< pprint
std::span<const Native> url_filters();       ///< URLs
std::span<const Native> number_filters();    ///< numbers, sizes and lengths
std::span<const Native> sequence_filters();  ///< lists, dicts and their items
std::span<const Native> selection_filters(); ///< map, select, sort, groupby and similar

/// Returns the truth value of an argument; `fallback` if it is null.
Result<bool> flag(Machine& machine, const Value* argument, bool fallback);

} // namespace etna::jinja

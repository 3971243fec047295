#pragma once

#include "core/chat/jinja/machine.hpp"
#include "core/chat/jinja/native.hpp"

#include <string_view>

namespace etna::chat::jinja {

bool is_filter(std::string_view name);

/// `value | name(arguments)`.
Result<Value> call_filter(Machine& machine, std::string_view name, const Value& value, Arguments arguments);

// The filters by what they are about.
std::span<const Native> text_filters();      ///< strings to strings
std::span<const Native> wrap_filters();      ///< lines of a width
std::span<const Native> pretty_filters();    ///< pprint
std::span<const Native> url_filters();       ///< addresses of the web
std::span<const Native> number_filters();    ///< numbers, sizes and lengths
std::span<const Native> sequence_filters();  ///< lists, dicts and their parts
std::span<const Native> selection_filters(); ///< map, select, sort, groupby and their like

/// An argument's truth, `fallback` where it is not given.
Result<bool> flag(Machine& machine, const Value* argument, bool fallback);

} // namespace etna::chat::jinja

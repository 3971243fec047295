#pragma once

#include "core/base/result.hpp"
#include "core/jinja/machine.hpp"

#include <string>
#include <string_view>

namespace etna::jinja {

/// Python's str() and repr() of a value.
Result<std::string> to_text(Machine& machine, const Value& value);
Result<std::string> to_repr(Machine& machine, const Value& value);

/// repr() of a string: single quotes if possible, escapes for unprintable characters.
std::string quoted(std::string_view text);

/// Escapes non-ASCII characters, as ascii() does for a repr().
std::string ascii_only(std::string_view text);

/// repr() of a float: the shortest digits that round-trip.
std::string real_text(double number);

/// Replaces &, <, >, ' and " by character references.
std::string escaped(std::string_view text);

} // namespace etna::jinja

#pragma once

#include "core/base/result.hpp"
#include "core/jinja/machine.hpp"

#include <string>
#include <string_view>

/// Values as text: str(), repr() and Python's two kinds of format strings.
namespace etna::jinja {

/// Python's str() and repr() of a value.
Result<std::string> to_text(Machine& machine, const Value& value);
Result<std::string> to_repr(Machine& machine, const Value& value);

/// repr() of a string: single quotes if possible, escapes for unprintable characters.
std::string string_repr(std::string_view text);

/// repr() of a float: the shortest digits that round-trip.
std::string real_text(double number);

/// Replaces &, <, >, ' and " by character references.
std::string escaped(std::string_view text);

/// `format % arguments` with %s, %d and %%, and `format.format(...)` with {}, {{ and }}. All other
/// placeholders are a ValueError.
Result<Value> percent_format(Machine& machine, const Value& format, const Value& arguments);
Result<Value> brace_format(Machine& machine, const Value& format, const Arguments& arguments);

/// Returns the first placeholder that percent_format() or brace_format() refuses; empty if there is none.
std::string_view unsupported_percent(std::string_view format);
std::string_view unsupported_brace(std::string_view format);

} // namespace etna::jinja

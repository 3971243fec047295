#pragma once

#include "core/base/result.hpp"
#include "core/chat/jinja/machine.hpp"

#include <string>
#include <string_view>

namespace etna::chat::jinja {

/// Python's str() and repr() of a value.
Result<std::string> to_text(Machine& machine, const Value& value);
Result<std::string> to_repr(Machine& machine, const Value& value);

/// repr() of a string: single quotes where they serve, escapes for what cannot be printed.
std::string quoted(std::string_view text);

/// With escapes for what is not ASCII, as ascii() makes it of a repr().
std::string ascii_only(std::string_view text);

/// repr() of a float: the shortest digits that read back as the same number.
std::string real_text(double number);

/// Whether the markup's rules apply: &, <, >, ' and " as character references.
std::string escaped(std::string_view text);

} // namespace etna::chat::jinja

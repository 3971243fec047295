#pragma once

#include "core/jinja/machine.hpp"

namespace etna::jinja {

/// Implements str.format(): fields in braces, with the lookups, conversions and specifications of Python's
/// format strings.
Result<Value> brace_format(Machine& machine, const Value& format, const Arguments& arguments);

} // namespace etna::jinja

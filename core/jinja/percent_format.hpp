#pragma once

#include "core/jinja/machine.hpp"

namespace etna::jinja {

/// Evaluates `format % arguments`: the fields take a tuple's items or a dict's values.
Result<Value> percent_format(Machine& machine, const Value& format, const Value& arguments);

} // namespace etna::jinja

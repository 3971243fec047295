#pragma once

#include "core/chat/jinja/machine.hpp"

namespace etna::chat::jinja {

/// Evaluates `format % arguments`: the fields take a tuple's items or a dict's values.
Result<Value> percent_format(Machine& machine, const Value& format, const Value& arguments);

} // namespace etna::chat::jinja

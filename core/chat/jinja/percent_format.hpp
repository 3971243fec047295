#pragma once

#include "core/chat/jinja/machine.hpp"

namespace etna::chat::jinja {

/// `format % arguments`: a tuple's items or a dict's values in the places that the format names.
Result<Value> percent_format(Machine& machine, const Value& format, const Value& arguments);

} // namespace etna::chat::jinja

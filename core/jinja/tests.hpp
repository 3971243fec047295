#pragma once

#include "core/jinja/machine.hpp"

#include <string_view>

namespace etna::jinja {

bool is_test(std::string_view name);

/// Evaluates `value is name(arguments)`.
Result<Value> call_test(Machine& machine, std::string_view name, const Value& value, Arguments arguments);

} // namespace etna::jinja

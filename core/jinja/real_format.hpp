#pragma once

#include "core/base/result.hpp"
#include "core/jinja/number_format.hpp"

#include <string>

namespace etna::jinja {

/// Formats a float without its sign by the type, precision and alternate form of the specification. Error:
/// ValueError (too many digits).
Result<std::string> real_digits(double magnitude, const FormatSpec& spec);

} // namespace etna::jinja

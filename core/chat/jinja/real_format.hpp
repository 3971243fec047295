#pragma once

#include "core/base/result.hpp"
#include "core/chat/jinja/number_format.hpp"

#include <string>

namespace etna::chat::jinja {

/// A float without its sign as the type, the precision and the alternate form of the specification say it.
/// Error: ValueError (too many digits).
Result<std::string> real_digits(double magnitude, const FormatSpec& spec);

} // namespace etna::chat::jinja

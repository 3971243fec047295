#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace etna::jinja {

/// Python's int(text, base) and float(text), for ASCII digits: surrounding white space, a sign, underscores
/// between digits, prefixes (0x with base 16 or 0). Returns nothing if Python raises ValueError. Integers are
/// returned as decimal digits, see numbers.hpp.
std::optional<std::string> parse_integer(std::string_view text, int base);
std::optional<double> parse_real(std::string_view text);

} // namespace etna::jinja

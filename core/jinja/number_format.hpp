#pragma once

#include "core/jinja/machine.hpp"

#include <string>

namespace etna::jinja {

/// Python's format specification for one value; % formats use part of it.
struct FormatSpec {
    std::string fill = " ";
    char align = 0; ///< < > ^ = or none
    char sign = '-';
    bool alternate = false;
    char group = 0; ///< thousands separator: , or _
    int64_t width = 0;
    int64_t precision = -1;
    char type = 0;

    bool operator==(const FormatSpec& other) const = default;
};

/// ValueError if the text is not a specification.
Result<FormatSpec> parse_format_spec(std::string_view text);

/// Formats a number or string, as Python's format(value, spec).
Result<std::string> formatted(Machine& machine, const Value& value, const FormatSpec& spec);

/// Pads the text to the width; `fallback` is the alignment if the specification has none.
Result<std::string> aligned(Machine& machine, std::string text, const FormatSpec& spec, char fallback);

} // namespace etna::jinja

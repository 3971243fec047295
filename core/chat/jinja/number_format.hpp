#pragma once

#include "core/chat/jinja/machine.hpp"

#include <string>

namespace etna::chat::jinja {

/// What a format says about one value: Python's format specification, and what % formats share with it.
struct FormatSpec {
    std::string fill = " ";
    char align = 0; ///< < > ^ = or none
    char sign = '-';
    bool alternate = false;
    char group = 0; ///< , or _ between thousands
    int64_t width = 0;
    int64_t precision = -1;
    char type = 0;

    bool operator==(const FormatSpec& other) const = default;
};

/// ValueError where it is none.
Result<FormatSpec> parse_format_spec(std::string_view text);

/// A number or string written as the specification says (format(value, spec)).
Result<std::string> formatted(Machine& machine, const Value& value, const FormatSpec& spec);

/// Filled up to the width; `fallback` is the alignment where the specification has none.
Result<std::string> aligned(Machine& machine, std::string text, const FormatSpec& spec, char fallback);

} // namespace etna::chat::jinja

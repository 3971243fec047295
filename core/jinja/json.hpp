#pragma once

#include "core/base/result.hpp"
#include "core/jinja/machine.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace etna::jinja {

/// Options of json.dumps(); the defaults are those of the tojson filter in transformers.
struct JsonStyle {
    std::optional<std::string> indent = {}; ///< per level; none: one line
    std::string item_separator = ", ";
    std::string key_separator = ": ";
    bool sort_keys = false;
    bool ascii_only = false;
};

/// Errors: TypeError for a value that JSON cannot represent; a limit.
Result<std::string> to_json(Machine& machine, const Value& value, const JsonStyle& style);

} // namespace etna::jinja

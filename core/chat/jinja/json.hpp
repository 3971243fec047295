#pragma once

#include "core/base/result.hpp"
#include "core/chat/jinja/machine.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace etna::chat::jinja {

/// How json.dumps() writes; the defaults are those of the tojson filter of transformers.
struct JsonStyle {
    std::optional<std::string> indent = {}; ///< of one level; none writes one line
    std::string item_separator = ", ";
    std::string key_separator = ": ";
    bool sort_keys = false;
    bool ascii_only = false;
};

/// Errors: TypeError for what JSON cannot hold, a bound.
Result<std::string> to_json(Machine& machine, const Value& value, const JsonStyle& style);

} // namespace etna::chat::jinja

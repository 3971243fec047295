#pragma once

#include "core/base/result.hpp"

#include <string>
#include <string_view>

namespace etna::server::ollama {

/// The values that a template inserts.
struct PromptValues {
    std::string_view system;
    std::string_view prompt;
    std::string_view suffix;
};

/// Renders a template of /api/generate. Supports the subset of Go's templates that these use: `.System`,
/// `.Prompt`, `.Suffix` and `.Response`, which ends the prompt; `if` on one of them, `else` and `end`;
/// comments and trimmed white space. Errors: invalid_argument (another action, an `if` without an end, too
/// many insertions). Source: Go's package text/template.
Result<std::string> render_template(std::string_view text, const PromptValues& values);

} // namespace etna::server::ollama

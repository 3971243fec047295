#pragma once

#include "core/base/result.hpp"

#include <cstddef>
#include <functional>
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
/// comments and trimmed white space. `reserve_memory` is asked for the bytes of the prompt before it is
/// built; empty: not. Errors: invalid_argument (another action, an `if` without an end, too many insertions),
/// out_of_memory (it returned false). Source: Go's package text/template.
Result<std::string> render_template(std::string_view text, const PromptValues& values,
                                    const std::function<bool(std::size_t bytes)>& reserve_memory = {});

} // namespace etna::server::ollama

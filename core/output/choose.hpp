#pragma once

#include "core/output/syntax.hpp"

#include <functional>
#include <string_view>

namespace etna::output {

/// Whether the vocabulary has a token of exactly this text.
using HasToken = std::function<bool(std::string_view)>;

/// Returns the syntax for a model with this template (empty: none) and vocabulary. Never fails: an unknown
/// family gets the generic syntax. Sets `expected` for reasoning marks that occur in the template or are
/// tokens.
Syntax choose_syntax(std::string_view template_text, const HasToken& has_token);

/// Returns the syntax for a model of syntax `own` if its tools are described in the system message, see
/// AdaptedPrompt::tools_in_text: Hermes syntax for calls, `own` for everything else.
Syntax syntax_of_told_tools(Syntax own);

} // namespace etna::output

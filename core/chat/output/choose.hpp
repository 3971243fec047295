#pragma once

#include "core/chat/output/syntax.hpp"

#include <functional>
#include <string_view>

namespace etna::chat::output {

/// Whether the vocabulary has a token of exactly this text.
using HasToken = std::function<bool(std::string_view)>;

/// How the model writes that brings this template (empty: none) and vocabulary. Never fails: a model of no
/// known family gets the generic syntax. Reasoning marks that stand in the template, or are tokens, become
/// expected.
Syntax choose_syntax(std::string_view template_text, const HasToken& has_token);

/// How a model that otherwise writes `own` answers when tools were told to it in words, see
/// AdaptedPrompt::tools_in_text: calls as Hermes writes them, and all else as its own.
Syntax syntax_of_told_tools(Syntax own);

} // namespace etna::chat::output

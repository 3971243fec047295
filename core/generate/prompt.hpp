#pragma once

#include "core/base/result.hpp"
#include "core/chat/output/parser.hpp"
#include "core/generate/generate.hpp"
#include "core/text/detokenizer.hpp"

#include <optional>
#include <string>
#include <vector>

// Private to the room: stages 2 and 3 of a token's life.
namespace etna::generate {

/// A request's prompt, and what has to be known to read the answer.
struct Prompt {
    std::string text;
    PromptTokens content;
    text::TextPosition answer = text::TextPosition::beginning; ///< whether the answer goes on with the text
    std::vector<std::string> notes;                            ///< see Adapted
    const ChatFormat* format = nullptr;                        ///< null: the answer is text
    const chat::output::Syntax* syntax = nullptr;              ///< of the answer to a conversation
    std::string tools;                                         ///< that were offered, as JSON
    std::string opening; ///< the end of `text` that is already the answer's
};

/// A parser of an answer to the prompt; none where the answer is text. Errors: invalid_argument (the tools
/// are no JSON).
Result<std::optional<chat::output::Parser>> make_parser(const Prompt& prompt);

Result<Prompt> encode_prompt(const Model& model, const Request& request);

/// Error: invalid_argument (nothing, or no room for an answer).
Status check_length(const Model& model, std::size_t prompt_tokens);

} // namespace etna::generate

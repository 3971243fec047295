#pragma once

#include "core/base/result.hpp"
#include "core/chat/adapt.hpp"
#include "core/chat/output/parser.hpp"
#include "core/generate/generate.hpp"
#include "core/text/detokenizer.hpp"

#include <optional>
#include <span>
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
    const chat::output::Syntax* syntax = nullptr; ///< of the answer to a conversation; null: it is text
    bool may_think =
        true; ///< false: thinking is switched off, or the template does so unless it is asked for
    std::span<const TokenId> marks; ///< of the model: control tokens that `syntax` has to see
    std::string tools;              ///< that were offered, as JSON
    bool is_form = false;           ///< what is answered is kept to a form
    /// The end of `text` that is the beginning of the answer: see chat::AdaptedPrompt.
    std::size_t begun_bytes = 0;
};

/// A parser of an answer to the prompt, which has read what of it is begun; none where the answer is text.
/// Errors: invalid_argument (the tools are no JSON, or a tool call is begun: only text can be gone on with).
Result<std::optional<chat::output::Parser>> make_parser(const Prompt& prompt);

/// What the making of a prompt keeps to.
struct EncodeBounds {
    bool must_fit = false; ///< a text that is longer than the context can hold is refused before it is cut
    const PromptCosts* costs = nullptr; ///< borrowed; null: nobody asks
};

/// The text of a conversation by the model's template. Errors: those of rendering, out_of_memory.
Result<chat::AdaptedPrompt> render_conversation(const Model& model, const chat::Conversation& conversation,
                                                int64_t now_unix_s, const PromptCosts& costs);

/// Errors: those of rendering and tokenizing, context_exceeded, cancelled, out_of_memory.
Result<Prompt> encode_prompt(const Model& model, const Request& request, const EncodeBounds& bounds = {});

/// Errors: invalid_argument (nothing), context_exceeded (no room for an answer).
Status check_length(const Model& model, std::size_t prompt_tokens);

} // namespace etna::generate

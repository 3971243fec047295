#pragma once

#include "core/base/result.hpp"
#include "core/chat/adapt.hpp"
#include "core/generate/defaults.hpp"
#include "core/generate/events.hpp"
#include "core/generate/model_file.hpp"
#include "core/generate/prompt_budget.hpp"
#include "core/generate/request.hpp"
#include "core/output/parser.hpp"
#include "core/text/detokenizer.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// Internal to core/generate: renders and tokenizes a prompt.
namespace etna::generate {

/// A request's encoded prompt and the state needed to parse the answer.
struct Prompt {
    std::string text;
    std::vector<std::size_t> barriers; ///< positions in `text`, see text::EncodeOptions
    PromptTokens content;
    std::vector<uint32_t> branch_positions = {};           ///< see engine::Request
    text::TextPosition answer = text::TextPosition::start; ///< whether the answer continues the text
    Adapted adapted = {};                                  ///< by the chat template
    const output::Syntax* syntax = nullptr; ///< of the answer to a conversation; null: plain text
    bool may_think = true;                  ///< see thinking_of(); the template's default counts
    std::span<const TokenId> markers;       ///< the control tokens that the parser must see as text
    std::vector<jinja::Value> tools;        ///< the offered tools
    bool is_structured = false;             ///< the answer is constrained to a grammar
    bool has_strict_calls = false;          ///< see output::ParserOptions
    bool is_shortened = false;              ///< tokens were dropped, see ContextShift
    std::size_t kept_tokens = 0;            ///< tokens that a ContextShift never drops
    /// Length of the suffix of `text` that is the start of the answer: see chat::AdaptedPrompt.
    std::size_t prefilled_bytes = 0;
};

/// Returns a parser for the answer to the prompt that has already read the prefilled part; none if the answer
/// is plain text. Errors: invalid_argument (a tool has no name, or the prefilled part contains a tool
/// call: only text can be continued).
Result<std::optional<output::Parser>> make_parser(const Prompt& prompt);

/// Limits on encoding a prompt.
struct EncodeLimits {
    uint32_t context_tokens = 0;          ///< maximum tokens of a sequence, the answer included
    bool must_fit = false;                ///< a text too long for the context is refused before tokenization
    bool finds_branches = false;          ///< sets Prompt::branch_positions, for models that take snapshots
    const PromptBudget* budget = nullptr; ///< borrowed; null: no limits
};

/// Returns the thinking of a conversation. A constrained answer thinks only on request.
chat::Thinking thinking_of(const chat::Conversation& conversation, const Request& request);

/// Renders a conversation, the request's prompt, through the model's template. Errors: those of rendering,
/// out_of_memory.
Result<chat::AdaptedPrompt> render_conversation(const ModelFile& file, const Defaults& defaults,
                                                const chat::Conversation& conversation,
                                                const Request& request, const PromptBudget& budget);

/// Errors: those of rendering and tokenizing, context_exceeded, cancelled, out_of_memory.
Result<Prompt> encode_prompt(const ModelFile& file, const Defaults& defaults, const Request& request,
                             const EncodeLimits& limits);

/// Errors: invalid_argument (empty prompt), context_exceeded (no room for an answer).
Status check_length(const ModelFile& file, std::size_t prompt_tokens, uint32_t context_tokens);

} // namespace etna::generate

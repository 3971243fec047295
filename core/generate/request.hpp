#pragma once

#include "core/base/token.hpp"
#include "core/chat/conversation.hpp"
#include "core/engine/request.hpp"
#include "core/generate/context_shift.hpp"
#include "core/generate/sampling_options.hpp"
#include "core/generate/speculation.hpp"
#include "core/generate/transcript.hpp"
#include "core/grammar/description.hpp"
#include "core/sampling/logit_processors.hpp"
#include "core/text/detokenizer.hpp"
#include "core/text/tokenizer.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace etna::generate {

/// Maximum of Request::logprobs and prompt_logprobs: the limit of OpenAI's API, and vLLM's default.
constexpr uint32_t logprobs_max = 20;

/// Whether the model's end-of-turn tokens end the answer.
enum class EndTokens : uint8_t { stop, ignore };

/// Whether an answer includes the stop string that ended it.
enum class MatchedStop : uint8_t { excluded, included };

/// The text in which stop strings end an answer. Without a chat format, all of an answer is content.
enum class StopScope : uint8_t {
    content,  ///< neither reasoning nor tool calls
    all_text, ///< also reasoning and tool calls, as the model writes them
};

/// Maximum length of ReasoningLimit::message.
constexpr std::size_t reasoning_message_bytes_max = 4096;

/// A limit on the reasoning of one answer to a conversation. At the limit the reasoning is closed by the
/// markers of the model's syntax, and the answer follows. Reasoning that opens again is closed at once.
struct ReasoningLimit {
    /// Tokens of reasoning; 0: none. Empty: no limit.
    std::optional<uint32_t> tokens_max = {};
    /// Added to the reasoning before it is closed; without markers of the syntax.
    std::string message = {};
    /// Closes the reasoning at the next token once it is true, set by any thread; null: none.
    std::shared_ptr<std::atomic<bool>> is_over = {};
};

/// A part of a prompt that mixes texts and tokens. Texts are tokenized one by one.
struct PromptPart {
    std::variant<std::string, std::vector<TokenId>> content;
    text::SpecialTokens special = text::SpecialTokens::parse; ///< of a text
    text::AddBos bos = text::AddBos::never;                   ///< of a text
    bool may_lose_start = false; ///< its first tokens are dropped while the prompt does not fit the context
};

/// A generation request: one prompt, and one or more choices.
struct Request {
    /// Text, tokens or a mix of them passed to the model unchanged, or a conversation, which is rendered
    /// through the model's chat template and whose answer is parsed by the model's output syntax.
    std::variant<std::string, chat::Conversation, std::vector<TokenId>, std::vector<PromptPart>> prompt;
    /// Text after the gap for fill-in-the-middle, if the prompt is text and the model supports it; empty:
    /// none.
    std::optional<std::string> suffix;
    std::vector<TokenId> earlier_tokens = {}; ///< of an earlier exchange, before the prompt
    /// Truncates the prompt to its last tokens; empty: no truncation.
    std::optional<uint32_t> prompt_tokens_max;
    /// Shortens a prompt that is too long, and lets an answer continue when the context is full, up to the
    /// context that the model was trained for if there is no max_tokens. Without effect on answers with a
    /// grammar, tools, a limit of the reasoning or prompt_logprobs, on best_of and on beams. Empty: such a
    /// prompt is an error, and the answer ends.
    std::optional<ContextShift> context_shift = {};
    int64_t now_unix_s = 0; ///< the current time for templates
    /// Borrowed: the tokens of the conversation's earlier turns, to which this turn is added; null: none. One
    /// request at a time.
    Transcript* transcript = nullptr;
    uint32_t choices = 1; ///< number of answers; each seed is the previous one plus one
    /// Number of answers to sample. The choices are those with the highest mean log-probability, end token
    /// included, best first, cancelled ones last; all events are delivered once the ranking is known. Empty:
    /// equal to `choices`.
    std::optional<uint32_t> best_of = {};
    /// Beam search instead of sampling: the choices are its best hypotheses (`BeamOptions::answers` of them),
    /// and all events are delivered at its end.
    std::optional<engine::BeamOptions> beams = {};
    /// Speculative decoding settings that override those the model was loaded with. Never changes the answer.
    SpeculationOverrides speculation = {};
    std::string prediction = {}; ///< predicted answer, as a source of drafts; see OpenAI's `prediction`
    std::optional<uint32_t> max_tokens; ///< empty: until an end token or a full context
    bool is_unbounded = false; ///< max_tokens is empty on purpose: the model's default does not fill it
    uint32_t min_tokens = 0;   ///< minimum answer length: nothing ends the answer earlier
    EndTokens end_tokens = EndTokens::stop;
    std::vector<TokenId> stop_tokens;                      ///< additional end tokens, not part of the answer
    std::optional<sampling::Parameters> sampling_defaults; ///< replaces the model's
    SamplingOverrides sampling;
    std::optional<int64_t> seed;   ///< empty: a random one, reported in Finished
    std::vector<std::string> stop; ///< text that ends the answer and is not part of it; none may be empty
    MatchedStop matched_stop = MatchedStop::excluded;
    StopScope stop_scope = StopScope::content;
    /// Whether control tokens appear by name in the text: the end token too, unless the answer ended with
    /// calls. Markers of a conversation's protocol within the answer never do.
    text::ControlTokens control_tokens = text::ControlTokens::hidden;
    std::vector<sampling::LogitBias> logit_bias; ///< see core/sampling/logit_processors.hpp
    /// DRY sequence breakers; unused while DRY is off.
    std::vector<std::string> dry_breakers = default_dry_breakers();
    /// Undelivered tokens at which the engine pauses the request until a slow sink catches up; 0: no limit.
    uint32_t unread_max = 0;
    uint64_t cache_salt = 0; ///< prompt cache entries are shared only among requests with the same salt
    uint64_t client = 0;     ///< client id: the engine is shared fairly among clients
    int32_t priority = 0;    ///< order among the client's requests: smaller numbers first
    /// Excludes beams and a ContextShift of the answer. No effect without a conversation. Empty: no limit.
    std::optional<ReasoningLimit> reasoning = {};
    /// Grammar of the answer, unless it calls tools; empty: unconstrained. Reasoning precedes it only if
    /// thinking is on, or if the template opens it and has no switch. An answer that ends before the grammar
    /// is complete was cut off (FinishReason::length, or a stop string).
    std::optional<grammar::Description> grammar = {};
    /// White space in JSON: answers that match a JSON Schema, and arguments that match their tool's.
    grammar::JsonSpacing json_spacing = grammar::JsonSpacing::single;
    /// Calls always name offered tools, with arguments that are a JSON object. The arguments match their
    /// schema if the tool is strict ("strict": true), if a call is required, or if this is set.
    bool has_strict_tools = false;
    bool has_lenient_tools = false;   ///< schema keywords that cannot be enforced are dropped
    std::optional<uint32_t> logprobs; ///< deliver TokenDelta with this many top tokens
    /// Deliver PromptTokenDelta with this many top tokens; disables the prompt cache for the request.
    std::optional<uint32_t> prompt_logprobs = {};
};

/// Returns whether an answer to the request may continue when the context is full.
bool can_shift(const Request& request);

/// Returns whether the request's ContextShift shortens a prompt that is too long, and whether it lets an
/// answer continue.
bool shortens_prompt(const Request& request);
bool continues_answer(const Request& request);

/// A stored model's defaults for fields that a request does not set.
struct RequestDefaults {
    std::optional<uint32_t> max_tokens = {};
    uint32_t min_tokens = 0;
    std::vector<std::string> stop = {};
    std::optional<int64_t> seed = {};
    std::vector<sampling::LogitBias> logit_bias = {};
    chat::Thinking thinking = chat::Thinking::template_default;
};

/// Applies the defaults to the fields that the request does not set; min_tokens only up to its max_tokens.
void fill(Request& request, const RequestDefaults& defaults);

} // namespace etna::generate

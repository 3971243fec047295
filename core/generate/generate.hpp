#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/chat/conversation.hpp"
#include "core/engine/request.hpp"
#include "core/generate/defaults.hpp"
#include "core/generate/dry_breakers.hpp"
#include "core/generate/model.hpp"
#include "core/generate/speculation.hpp"
#include "core/generate/transcript.hpp"
#include "core/grammar/grammars.hpp"
#include "core/output/event.hpp"
#include "core/sampling/logit_processors.hpp"
#include "core/text/detokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace etna::generate {

/// Effect of the model's end-of-turn tokens.
enum class EndTokens : uint8_t { end, go_on };

/// Whether an answer includes the stop string that ended it.
enum class MatchedStop : uint8_t { left_out, included };

/// A generation request: one prompt, and one or more choices.
struct Request {
    /// Text or tokens passed to the model unchanged, or a conversation, which is rendered through the model's
    /// chat template and whose answer is parsed by the model's output syntax.
    std::variant<std::string, chat::Conversation, std::vector<TokenId>> prompt;
    /// Text after the gap for fill-in-the-middle, if the prompt is text and the model supports it; empty:
    /// none.
    std::optional<std::string> suffix;
    /// Truncates the prompt to its last tokens; empty: no truncation.
    std::optional<uint32_t> prompt_tokens_max;
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
    std::string prediction = {};        ///< predicted answer, a source of drafts where the answer follows it
    std::optional<uint32_t> max_tokens; ///< empty: until an end token or a full context
    uint32_t min_tokens = 0;            ///< minimum answer length: nothing ends the answer earlier
    EndTokens end_tokens = EndTokens::end;
    std::vector<TokenId> stop_tokens;                      ///< additional end tokens, not part of the answer
    std::optional<sampling::Parameters> sampling_defaults; ///< replaces the model's
    SamplingOverrides sampling;
    std::optional<int64_t> seed;   ///< empty: a random one, reported in Finished
    std::vector<std::string> stop; ///< text that ends the answer and is not part of it; none may be empty
    MatchedStop matched_stop = MatchedStop::left_out;
    /// Whether control tokens appear by name in the text, for a prompt that is not a conversation or if the
    /// protocol's own markers are requested.
    text::ControlTokens control_tokens = text::ControlTokens::hidden;
    std::vector<sampling::LogitBias> logit_bias; ///< see core/sampling/logit_processors.hpp
    /// DRY sequence breakers; unused while DRY is off.
    std::vector<std::string> dry_breakers = default_dry_breakers();
    /// Undelivered tokens at which the engine pauses the request until a slow sink catches up; 0: no limit.
    uint32_t unread_max = 0;
    uint64_t cache_salt = 0; ///< prompt cache entries are shared only among requests with the same salt
    uint64_t client = 0;     ///< client id: the engine is shared fairly among clients
    /// Grammar of the answer after its reasoning, unless it calls tools; empty: unconstrained. An answer that
    /// ends before the grammar is complete was cut off (FinishReason::length, or a stop string).
    std::optional<grammar::Description> grammar = {};
    /// Calls always name offered tools, with arguments that are a JSON object. The arguments match their
    /// schema if the tool is strict ("strict": true), if a call is required, or if this is set.
    bool has_strict_tools = false;
    bool has_lenient_tools = false;   ///< schema keywords that cannot be enforced are dropped
    std::optional<uint32_t> logprobs; ///< deliver TokenDelta with this many top tokens
    /// Deliver PromptTokenDelta with this many top tokens; disables the prompt cache for the request.
    std::optional<uint32_t> prompt_logprobs = {};
};

constexpr uint32_t logprobs_max =
    20; ///< for Request::logprobs and prompt_logprobs; OpenAI's, and vLLM's default

/// A token and its log-probability (natural logarithm) in the model's distribution, before any penalty, bias
/// or filter.
struct TokenLogprob {
    TokenId token = 0;
    std::string bytes; ///< the token's text; may be part of a UTF-8 character
    double logprob = 0;
};

/// A token of the answer, delivered before the text that it completes; only with Request::logprobs. Includes
/// tokens whose text a stop string removes; the end token is in Finished.
struct TokenDelta {
    TokenLogprob chosen;
    std::vector<TokenLogprob> top; ///< most likely first, ties by ascending id
};

/// A token of the prompt with its likelihood given the tokens before it; all are delivered in order, before
/// the answer. Only with Request::prompt_logprobs.
struct PromptTokenDelta {
    TokenId token = 0;
    std::string bytes;                         ///< see TokenLogprob
    std::string text;                          ///< prompt text that it completes: whole UTF-8 characters
    std::optional<TokenDelta> likelihood = {}; ///< empty for the first token, which has no predecessor
    uint32_t rank = 0; ///< number of tokens at least as likely, itself included; 0 for the first
};

/// Delivered first if the conversation had to be changed so that the model's template renders all of it.
struct Adapted {
    std::vector<std::string> notes; ///< user-facing, one clause each
};

/// The next piece of the answer: whole UTF-8 characters, never part of a possible stop string; for a
/// conversation, never part of reasoning, a tool call or a protocol marker.
struct TextDelta {
    std::string text;
};

enum class FinishReason : uint8_t {
    stop,       ///< the model ended its turn, or a stop string matched
    length,     ///< max_tokens, the context or the cache memory is exhausted
    tool_calls, ///< the model ended its turn with tool calls
    cancelled,  ///< the sink or the caller stopped the generation
};

/// Returns the JSON name: "stop", "length", "tool_calls" or "cancelled".
std::string_view to_string(FinishReason reason);

/// Steady-clock durations; 0 for a phase that was not reached.
struct Timings {
    double queue_ms = 0;      ///< submission to admission
    double prompt_ms = 0;     ///< admission to the first token
    double generation_ms = 0; ///< first token to the end
};

/// The last event.
struct Finished {
    FinishReason finish_reason = FinishReason::stop;
    std::vector<TokenId> tokens; ///< generated tokens, without the end token
    /// Tokens that the engine generated, end token included. Exceeds `tokens` for a cancelled answer, whose
    /// last tokens were not delivered. All were generated within Timings::generation_ms.
    uint32_t generated_tokens = 0;
    uint32_t discarded_tokens = 0; ///< of sampled answers not among the best; in the first choice's
    std::string matched;           ///< the stop string, or the name of the stop token, that ended the answer
    std::optional<TokenDelta> end_token; ///< only with Request::logprobs
    uint32_t prompt_tokens = 0;          ///< the completion token count is `tokens.size()`
    uint32_t cached_tokens = 0;          ///< prompt tokens found in the cache
    uint32_t reasoning_tokens =
        0;                        ///< reasoning tokens among `tokens`; approximate: markers belong to neither
    uint32_t accepted_drafts = 0; ///< accepted draft tokens
    uint32_t rejected_drafts = 0; ///< rejected draft tokens
    int64_t seed = 0;             ///< the seed that was used
    output::Output output;        ///< the complete parsed answer to a conversation; every call has an id
    Timings timings;
};

/// A output::Event is never of kind content: that is a TextDelta.
using Event = std::variant<Adapted, PromptTokenDelta, TextDelta, output::Event, TokenDelta, Finished>;

enum class SinkResult : uint8_t { proceed, stop };

/// Receives events on the caller's thread. SinkResult::stop ends the generation; Finished is still delivered,
/// once.
using Sink = std::function<SinkResult(const Event&)>;

/// Polled periodically, also while there are no events; true ends the generation with
/// FinishReason::cancelled.
using CancelPoll = std::function<bool()>;

/// Called before an allocation that grows with the prompt, with its size in bytes; returning false refuses
/// it.
using ReserveMemory = std::function<bool(std::size_t bytes)>;

/// Limits on encoding a prompt; empty: unlimited.
struct PromptCosts {
    CancelPoll is_cancelled = {};      ///< true cancels it
    ReserveMemory reserve_memory = {}; ///< false fails it
};

/// Runs a request with one choice to completion: Generation::begin() and finish(). Blocking.
Status generate(const Model& model, const Request& request, const Sink& sink,
                const CancelPoll& is_cancelled = {});

/// A prompt as passed to the model.
struct EncodedPrompt {
    std::string text; ///< empty for a prompt of tokens
    std::vector<TokenId> tokens;
};

/// Renders and tokenizes the request's prompt, without a length check. Errors: those of rendering and
/// tokenizing, cancelled, out_of_memory.
Result<EncodedPrompt> encode(const Model& model, const Request& request, const PromptCosts& costs = {});

/// Renders the request's prompt, a conversation, through the model's template. Errors: those of rendering,
/// out_of_memory.
Result<std::string> render(const Model& model, const Request& request, const PromptCosts& costs = {});

/// Returns the number of tokens in the request's prompt. Errors: those of rendering and tokenizing.
Result<uint32_t> count_prompt_tokens(const Model& model, const Request& request);

} // namespace etna::generate

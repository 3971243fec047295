#pragma once

#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/chat/conversation.hpp"
#include "core/chat/output/event.hpp"
#include "core/engine/beams.hpp"
#include "core/generate/defaults.hpp"
#include "core/generate/dry_breakers.hpp"
#include "core/generate/model.hpp"
#include "core/generate/speculation.hpp"
#include "core/generate/transcript.hpp"
#include "core/grammar/grammars.hpp"
#include "core/sampling/logit_bias.hpp"
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

/// What the tokens that end a model's turn do.
enum class EndTokens : uint8_t { end, go_on };

/// Whether the stop string that ended an answer is part of it.
enum class MatchedStop : uint8_t { left_out, included };

/// An answer that somebody wants, or several to the same prompt.
struct Request {
    /// Text or tokens that go to the model as they are, or a conversation that is rendered through the
    /// model's chat template, and whose answer is read as its syntax says.
    std::variant<std::string, chat::Conversation, std::vector<TokenId>> prompt;
    /// What the answer goes before, where the prompt is text and the model can fill gaps; empty: nothing.
    std::optional<std::string> suffix;
    /// Only the last so many tokens of the prompt are given to the model; empty: all.
    std::optional<uint32_t> prompt_tokens_max;
    int64_t now_unix_s = 0; ///< what a template takes for the current time
    /// Borrowed: what the conversation's earlier turns left, and where this one is added; null where nothing
    /// is kept. One request at a time.
    Transcript* transcript = nullptr;
    uint32_t choices = 1; ///< answers to give; the seed of each is one more than that of the one before
    /// So many are sampled, and the choices are those of highest mean log-probability, the token that ended
    /// them included, the best first, and those that were cancelled last; all events come when that is known.
    /// Empty: as many as there are choices.
    std::optional<uint32_t> best_of = {};
    /// Instead of sampling: the choices are the best hypotheses of a beam search (`Beams::answers` of them),
    /// and all events come at its end.
    std::optional<engine::Beams> beams = {};
    /// How tokens are drafted, over what the model was loaded with. Never changes the answer.
    SpeculationWishes speculation = {};
    std::string prediction = {};        ///< what the answer may be: drafts where the answer follows it
    std::optional<uint32_t> max_tokens; ///< empty: until the model ends or the context is full
    uint32_t min_tokens = 0;            ///< nothing ends an answer before so many
    EndTokens end_tokens = EndTokens::end;
    std::vector<TokenId> stop_tokens;                      ///< end an answer too, and are not part of it
    std::optional<sampling::Parameters> sampling_defaults; ///< instead of the model's
    SamplingWishes sampling;
    std::optional<int64_t> seed;   ///< empty: a random one, reported in Finished
    std::vector<std::string> stop; ///< text that ends the answer and is not part of it; none may be empty
    MatchedStop matched_stop = MatchedStop::left_out;
    /// Whether control tokens show their names in the text, where the prompt was no conversation or the
    /// protocol's own marks are wanted.
    text::ControlTokens control_tokens = text::ControlTokens::hidden;
    std::vector<sampling::LogitBias> logit_bias; ///< see core/sampling/logit_bias.hpp
    /// Text over which DRY sees no repetition, while it is on.
    std::vector<std::string> dry_breakers = default_dry_breakers();
    /// Tokens that wait for a sink that is slow, before the engine lets the request wait; 0: no bound.
    uint32_t unread_max = 0;
    uint64_t cache_salt = 0; ///< cached prompts are shared only among requests of the same salt
    uint64_t client = 0;     ///< whose request it is: the engine is shared fairly among clients
    /// What the answer is kept to, behind its reasoning, where it calls no tools; empty: nothing. What ends
    /// before it is whole was cut off (FinishReason::length, or a stop string).
    std::optional<grammar::Description> grammar = {};
    /// Calls are of offered tools in any case, with arguments that are a JSON object. They fit their schemas
    /// where the tool says so ("strict": true), where a call is demanded, and with this.
    bool has_strict_tools = false;
    bool has_lenient_tools = false;   ///< what cannot be enforced of the tools' schemas is left out
    std::optional<uint32_t> logprobs; ///< deliver TokenDelta with this many of the likeliest tokens
    /// Deliver PromptTokenDelta with this many of the likeliest tokens; nothing of the prompt is then taken
    /// from the cache.
    std::optional<uint32_t> prompt_logprobs = {};
};

constexpr uint32_t logprobs_max =
    20; ///< for Request::logprobs and prompt_logprobs; OpenAI's, and vLLM's default

/// A token and its log-probability: natural logarithm, by the distribution that the model gave, before any
/// penalty, bias or filter.
struct TokenLogprob {
    TokenId token = 0;
    std::string bytes; ///< what it stands for; may be a part of a UTF-8 character
    double logprob = 0;
};

/// A token of the answer, before the text that it completes; only with Request::logprobs. Tokens that a stop
/// string takes away are told too; the end token is told in Finished.
struct TokenDelta {
    TokenLogprob chosen;
    std::vector<TokenLogprob> top; ///< the likeliest first, smaller id first among equals
};

/// A token of the prompt, as likely as the tokens before it made it; all of them in order, before the answer.
/// Only with Request::prompt_logprobs.
struct PromptTokenDelta {
    TokenId token = 0;
    std::string bytes;                         ///< see TokenLogprob
    std::string text;                          ///< of the prompt, that it completes: whole UTF-8 characters
    std::optional<TokenDelta> likelihood = {}; ///< of any but the first token, which has none before it
    uint32_t rank = 0; ///< tokens that were at least as likely, itself included; 0 for the first
};

/// The conversation was changed so that the model's template writes all of it; comes first, and only then.
struct Adapted {
    std::vector<std::string> notes; ///< for people, one clause each
};

/// The next piece of the answer: whole UTF-8 characters, never part of a stop string that is still possible,
/// nor of reasoning, a tool call or a mark of the protocol, where the prompt was a conversation.
struct TextDelta {
    std::string text;
};

enum class FinishReason : uint8_t {
    stop,       ///< the model ended, or a stop string appeared
    length,     ///< max_tokens, the context or the cache's memory is used up
    tool_calls, ///< the model ended, and wants tools called
    cancelled,  ///< the sink or the caller asked for the end
};

/// "stop", "length", "tool_calls", "cancelled": as JSON has it.
std::string_view to_string(FinishReason reason);

/// Durations by the steady clock; a phase that was not reached is 0.
struct Timings {
    double queue_ms = 0;      ///< submission to admission
    double prompt_ms = 0;     ///< admission to the first token
    double generation_ms = 0; ///< first token to the end
};

/// The last event.
struct Finished {
    FinishReason finish_reason = FinishReason::stop;
    std::vector<TokenId> tokens; ///< generated; the end token is not among them
    /// By the engine, the one that ended it among them: more than `tokens` where an answer was cancelled,
    /// whose last ones nobody was told. All of them came within Timings::generation_ms.
    uint32_t made_tokens = 0;
    uint32_t untold_tokens = 0; ///< of what was sampled and is not among the best; in the first choice's
    std::string matched;        ///< the stop string, or the name of the stop token, that ended the answer
    std::optional<TokenDelta> end_token; ///< with Request::logprobs
    uint32_t prompt_tokens = 0;          ///< completion tokens are `tokens.size()`
    uint32_t cached_tokens = 0;          ///< of the prompt, that were in the cache
    uint32_t reasoning_tokens =
        0; ///< of `tokens`, that the model thought with; about so many: marks belong to neither
    uint32_t accepted_drafts = 0; ///< tokens that were drafted and came so
    uint32_t rejected_drafts = 0; ///< that were drafted and did not
    int64_t seed = 0;             ///< the one that was used
    chat::output::Output output;  ///< the whole answer to a conversation; every call has an id
    Timings timings;
};

/// Of chat::output::Event any kind but content, which is TextDelta.
using Event = std::variant<Adapted, PromptTokenDelta, TextDelta, chat::output::Event, TokenDelta, Finished>;

enum class Flow : uint8_t { go_on, stop };

/// Where events go, on the caller's thread. Flow::stop ends the generation; Finished is still delivered,
/// once.
using Sink = std::function<Flow(const Event&)>;

/// Asked now and then, also while no event comes; true ends the generation with FinishReason::cancelled.
using StopRequested = std::function<bool()>;

/// Asked before memory is taken that grows with a prompt, with how many bytes; false: there is no such
/// memory.
using ClaimMemory = std::function<bool(std::size_t bytes)>;

/// What the making of a prompt may cost; empty: whatever it does.
struct PromptCosts {
    StopRequested stop_requested = {}; ///< true ends it
    ClaimMemory claim_memory = {};     ///< false ends it
};

/// Runs a request of one choice to its end: Generation::begin() and finish(). Blocking.
Status generate(const Model& model, const Request& request, const Sink& sink,
                const StopRequested& stop_requested = {});

/// A prompt as the model is given it.
struct EncodedPrompt {
    std::string text; ///< empty for a prompt of tokens
    std::vector<TokenId> tokens;
};

/// The request's prompt, rendered and tokenized, and nothing more; however long it is. Errors: those of
/// rendering and tokenizing, cancelled, out_of_memory.
Result<EncodedPrompt> encode(const Model& model, const Request& request, const PromptCosts& costs = {});

/// The text that the model's template makes of a conversation, which the prompt is. Errors: those of
/// rendering, out_of_memory.
Result<std::string> render(const Model& model, const Request& request, const PromptCosts& costs = {});

/// How many tokens the request's prompt has. Errors: those of rendering and tokenizing.
Result<uint32_t> count_prompt_tokens(const Model& model, const Request& request);

} // namespace etna::generate

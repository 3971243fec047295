#pragma once

#include "core/base/token.hpp"
#include "core/output/event.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// The events of a generation, and their receiver.
namespace etna::generate {

/// A token and its log-probability (natural logarithm) in the model's distribution, before any penalty, bias
/// or filter.
struct TokenLogprob {
    TokenId token = 0;
    std::string bytes; ///< the token's text; may be part of a UTF-8 character
    double logprob = 0;
};

/// A token of the answer, delivered before the text that it completes; only with Request::logprobs. Includes
/// tokens whose text a stop string removes. The end token is in Finished, and is delivered too if its text
/// is.
struct TokenDelta {
    TokenLogprob chosen;
    std::vector<TokenLogprob> top; ///< most likely first, ties by ascending id
};

/// The first `count` TokenDeltas of the answer that are final: no stop string can remove their text.
/// Delivered before that text, only with Request::logprobs. Tokens beyond the last count were removed.
struct FinalTokens {
    std::size_t count = 0;
};

/// A token of the prompt with its likelihood given the tokens before it; all are delivered in order, before
/// the answer. Only with Request::prompt_logprobs.
struct PromptTokenDelta {
    TokenId token = 0;
    std::string bytes;                         ///< see TokenLogprob
    std::string text;                          ///< prompt text that it completes: complete UTF-8 characters
    std::optional<TokenDelta> likelihood = {}; ///< empty for the first token, which has no predecessor
    uint32_t rank = 0; ///< number of tokens at least as likely, itself included; 0 for the first
};

/// Delivered first if the conversation had to be changed so that the model's template renders all of it, or
/// if that drops something in any form.
struct Adapted {
    std::vector<std::string> notes = {};   ///< user-facing, one clause each
    std::vector<std::string> dropped = {}; ///< what has no effect, by names for a client

    [[nodiscard]] bool is_empty() const { return notes.empty() && dropped.empty(); }
};

/// The next piece of the answer: complete UTF-8 characters, never part of a possible stop string; for a
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
constexpr std::string_view to_string(FinishReason reason) {
    constexpr std::array<std::string_view, 4> names = {"stop", "length", "tool_calls", "cancelled"};
    return names[static_cast<std::size_t>(reason)];
}

/// Steady-clock durations; 0 for a phase that was not reached.
struct Timings {
    double queue_ms = 0;      ///< submission to admission
    double prompt_ms = 0;     ///< admission to the first token
    double generation_ms = 0; ///< first token to the end
};

/// The last event.
struct Finished {
    FinishReason finish_reason = FinishReason::stop;
    std::vector<TokenId> tokens; ///< generated tokens; the end token only if its text was delivered
    /// Tokens that the engine generated, end token included. Exceeds `tokens` for a cancelled answer, whose
    /// last tokens were not delivered. All were generated within Timings::generation_ms.
    uint32_t generated_tokens = 0;
    uint32_t discarded_tokens = 0; ///< of sampled answers not among the best; in the first choice's
    std::string matched;           ///< the stop string, or the name of the stop token, that ended the answer
    std::optional<TokenDelta> end_token; ///< only with Request::logprobs
    uint32_t prompt_tokens = 0;          ///< the completion token count is `tokens.size()`
    uint32_t cached_tokens = 0;          ///< prompt tokens found in the cache
    uint32_t context_shifts =
        0; ///< times that tokens were dropped, see ContextShift; those of a prompt are one
    uint32_t reasoning_tokens =
        0;                        ///< reasoning tokens among `tokens`; approximate: markers belong to neither
    uint32_t accepted_drafts = 0; ///< accepted draft tokens
    uint32_t rejected_drafts = 0; ///< rejected draft tokens
    int64_t seed = 0;             ///< the seed that was used
    output::Output output;        ///< the complete parsed answer to a conversation; every call has an id
    Timings timings;
};

/// An output::Event is never of kind content: that is a TextDelta.
using Event =
    std::variant<Adapted, PromptTokenDelta, TextDelta, output::Event, TokenDelta, FinalTokens, Finished>;

enum class SinkResult : uint8_t { proceed, stop };

/// Receives events on the caller's thread. SinkResult::stop ends the generation; Finished is still delivered,
/// once.
using Sink = std::function<SinkResult(const Event&)>;

} // namespace etna::generate

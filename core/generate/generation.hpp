#pragma once

#include "core/base/cancel.hpp"
#include "core/base/result.hpp"
#include "core/base/token.hpp"
#include "core/generate/events.hpp"
#include "core/generate/model.hpp"
#include "core/generate/prompt_budget.hpp"
#include "core/generate/request.hpp"
#include "core/grammar/grammar_cache.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace etna::generate {

/// Interval of cancellation polls while the engine delivers nothing: short for a person, long for a
/// processor.
constexpr std::chrono::milliseconds cancel_poll_interval{50};

/// As Sink, with the index of the event's choice, from 0, numbered request by request. SinkResult::stop ends
/// only this choice. Adapted is delivered only for a request's first choice, Finished for every choice.
using ChoiceSink = std::function<SinkResult(uint32_t choice, const Event&)>;

/// One or more requests that are rendered, tokenized and queued in the engine, past every check that could
/// refuse them. Destruction ends them. Not thread-safe; several threads may each run one on the same model.
class Generation {
public:
    /// Borrows `model`. `is_cancelled` is polled while the prompt is encoded. Errors: invalid_argument
    /// (empty prompt, a conversation for a base model or one that its template refuses, tools that are not
    /// JSON, an empty stop string, a bias that leaves no token, parameters out of range), context_exceeded,
    /// corrupt and unsupported (a broken chat template, with the position), cancelled, busy, and the engine's
    /// error.
    static Result<Generation> begin(const Model& model, Request request, const CancelPoll& is_cancelled = {});

    /// Begins all requests or none. Precondition: at least one.
    static Result<Generation> begin_all(const Model& model, std::vector<Request> requests,
                                        const PromptBudget& budget = {});

    Generation(Generation&&) noexcept;
    Generation& operator=(Generation&&) noexcept;
    ~Generation();

    /// Returns the number of choices of all requests.
    [[nodiscard]] uint32_t choices() const;

    /// A request's prompt as passed to the model: the text (empty for a prompt of tokens) and its tokens.
    [[nodiscard]] const std::string& prompt_text(std::size_t request = 0) const;
    [[nodiscard]] std::span<const TokenId> prompt_tokens(std::size_t request = 0) const;

    /// Returns a request, unmodified.
    [[nodiscard]] const Request& request(std::size_t request) const;

    /// Returns the tokens that the engine has generated for a choice so far; of those sampled for a best_of,
    /// an arbitrary one's. Thread-safe, unless a ContextShift is allowed: then on the thread of finish().
    [[nodiscard]] uint32_t generated_tokens(uint32_t choice) const;

    /// Returns the seed of the first choice.
    [[nodiscard]] int64_t seed() const;

    /// Keywords of the requests' lenient schemas that are not enforced.
    [[nodiscard]] const std::vector<grammar::DroppedKeyword>& dropped_keywords() const;

    /// Returns how the conversations of the requests were adapted to the template.
    [[nodiscard]] Adapted adapted() const;

    /// Returns whether the engine has started on any choice. Thread-safe.
    [[nodiscard]] bool has_begun() const;

    /// Returns the progress on a request's prompt, by its first choice; empty while that waits. After a
    /// shift, that on the original prompt. Threads as for generated_tokens().
    [[nodiscard]] std::optional<engine::PromptProgress> prompt_progress(std::size_t request = 0) const;

    /// Generates, detokenizes, finds stop strings and parses until all choices have ended. Blocking; delivers
    /// events on this thread. `is_cancelled` is polled between events too, and ends all choices with
    /// FinishReason::cancelled. Call once. Same model, request and seed: same text. Errors: invalid_argument
    /// (a bias that leaves no token possible), internal, out_of_memory, device_lost. After an error no
    /// Finished is delivered; text delivered before remains valid.
    Status finish(const ChoiceSink& sink, const CancelPoll& is_cancelled = {});

private:
    struct State;
    explicit Generation(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

/// Runs a request with one choice to completion: Generation::begin() and finish(). Blocking.
Status generate(const Model& model, const Request& request, const Sink& sink,
                const CancelPoll& is_cancelled = {});

/// A prompt as passed to the model.
struct EncodedPrompt {
    std::string text; ///< empty for a prompt of tokens
    std::vector<TokenId> tokens;
    Adapted adapted = {};
};

/// Renders and tokenizes the request's prompt, without a length check. Errors: those of rendering and
/// tokenizing, cancelled, out_of_memory.
Result<EncodedPrompt> encode(const Model& model, const Request& request, const PromptBudget& budget = {});

/// Renders the request's prompt, a conversation, through the model's template. Errors: those of rendering,
/// out_of_memory.
Result<std::string> render(const Model& model, const Request& request, const PromptBudget& budget = {});

/// Returns the number of tokens in the request's prompt. Errors: those of rendering and tokenizing.
Result<uint32_t> count_prompt_tokens(const Model& model, const Request& request);

} // namespace etna::generate

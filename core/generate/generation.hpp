#pragma once

#include "core/base/result.hpp"
#include "core/generate/generate.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace etna::generate {

/// As Sink, with the choice that the event belongs to, from 0; those of the first request come first.
/// Flow::stop ends this choice alone. Adapted comes for the first choice of a request only; every choice has
/// its Finished.
using ChoiceSink = std::function<Flow(uint32_t choice, const Event&)>;

/// A request, or several, that are rendered, tokenized, and have their places in the engine's queue: what
/// could be refused has been. Destruction ends them. Not thread-safe; many threads may have one each, of one
/// model.
class Generation {
public:
    /// `model` is borrowed. `stop_requested` is asked now and then while the prompt is made. Errors:
    /// invalid_argument (empty prompt, a conversation for a base model or one that its template refuses,
    /// tools that are no JSON, an empty stop string, a bias that leaves no token, parameters out of range),
    /// context_exceeded, corrupt and unsupported (a broken chat template, with the place), cancelled, busy,
    /// and what the engine failed with.
    static Result<Generation> begin(const Model& model, Request request,
                                    const StopRequested& stop_requested = {});

    /// Several at once: all of them or none. Precondition: at least one.
    static Result<Generation> begin_all(const Model& model, std::vector<Request> requests,
                                        const PromptCosts& costs = {});

    Generation(Generation&&) noexcept;
    Generation& operator=(Generation&&) noexcept;
    ~Generation();

    /// How many answers there will be.
    [[nodiscard]] uint32_t choices() const;

    /// A request's prompt as the model is given it: the text (empty for a prompt of tokens) and its tokens.
    [[nodiscard]] const std::string& prompt_text(std::size_t request = 0) const;
    [[nodiscard]] std::span<const TokenId> prompt_tokens(std::size_t request = 0) const;

    /// That of the first choice.
    [[nodiscard]] int64_t seed() const;

    /// Keywords of the requests' lenient schemas that the answers are not kept to.
    [[nodiscard]] const std::vector<grammar::DroppedKeyword>& dropped_keywords() const;

    /// Whether the model works on it, and it waits for a place no more. Thread-safe.
    [[nodiscard]] bool has_begun() const;

    /// Generates, detokenizes, finds stop strings, parses, to the end of all choices. Blocking; events come
    /// on this thread. Once only. Same model, request and seed: same text. Errors: invalid_argument (a bias
    /// that leaves no token possible), internal, out_of_memory, device_lost. After an error no Finished is
    /// delivered; text that was delivered before stands.
    Status finish(const ChoiceSink& sink, const StopRequested& stop_requested = {});

private:
    struct State;
    explicit Generation(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

} // namespace etna::generate

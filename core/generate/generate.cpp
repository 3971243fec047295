#include "core/generate/generate.hpp"

#include "core/generate/answer.hpp"
#include "core/generate/prompt.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::generate {
namespace {

/// How often StopRequested is asked while the engine is silent: short for a person, long for a processor.
constexpr std::chrono::milliseconds stop_poll{50};

Status check(const Request& request) {
    if (std::any_of(request.stop.begin(), request.stop.end(), [](const auto& stop) { return stop.empty(); }))
        return Error{ErrorKind::invalid_argument, "a stop string is empty"};
    if (request.logprobs.value_or(0) > logprobs_max) {
        return Error{ErrorKind::invalid_argument,
                     fmt::format("{} log-probabilities are wanted for each token, and at most {} can be had",
                                 *request.logprobs, logprobs_max)};
    }
    return {};
}

Result<engine::Stream> submit(const Model& model, const Request& request, const PromptTokens& prompt,
                              uint32_t seed) {
    sampling::Parameters parameters = with_wishes(model.sampling_defaults(), request.sampling);
    parameters.seed = seed;
    const auto end_tokens = model.tokenizer().end_tokens();
    sampling::Breakers dry_breakers;
    if (parameters.dry_multiplier != 0) {
        ETNA_TRY(dry_breakers, encode_dry_breakers(model.tokenizer(), request.dry_breakers));
    }
    return model.engine().submit({.prompt = prompt.tokens,
                                  .kinds = prompt.kinds,
                                  .sampling = parameters,
                                  .logit_bias = request.logit_bias,
                                  .dry_breakers = std::move(dry_breakers),
                                  .top_candidates = request.logprobs.value_or(0),
                                  .max_tokens = request.max_tokens,
                                  .end_tokens = {end_tokens.begin(), end_tokens.end()}});
}

FinishReason reason_of(engine::FinishReason reason) {
    switch (reason) {
    case engine::FinishReason::stop:
        return FinishReason::stop;
    case engine::FinishReason::length:
        return FinishReason::length;
    case engine::FinishReason::cancelled:
    case engine::FinishReason::error:
        break;
    }
    return FinishReason::cancelled;
}

/// Reads the stream to its end. After a stop the stream is cancelled and the surplus is dropped.
engine::Finished drain(engine::Stream& stream, Answer& answer, const StopRequested& stop_requested,
                       bool& cancelled) {
    bool ended = false;
    while (true) {
        if (!ended && stop_requested && stop_requested()) {
            ended = cancelled = true;
            stream.cancel();
        }
        const auto event = stream.next_for(stop_poll);
        if (!event)
            continue;
        if (const auto* finished = std::get_if<engine::Finished>(&*event))
            return *finished;
        if (!ended && answer.push(std::get<engine::TokenEvent>(*event))) {
            ended = true;
            stream.cancel();
        }
    }
}

FinishReason reason_of(const Answer& answer, const engine::Finished& last, bool cancelled) {
    if (answer.stopped())
        return answer.reason();
    if (cancelled)
        return FinishReason::cancelled;
    const FinishReason reason = reason_of(last.reason);
    const bool calls = reason == FinishReason::stop && !answer.output().calls.empty();
    return calls ? FinishReason::tool_calls : reason;
}

/// Ids for calls that the model gave none: nine letters and digits, as the strictest templates want them.
void give_ids(chat::output::Output& output, uint32_t seed) {
    constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    constexpr std::size_t length = 9;
    uint64_t state = seed;
    for (chat::output::Call& call : output.calls) {
        if (!call.id.empty())
            continue;
        for (std::size_t i = 0; i < length; ++i) {
            state = state * 6364136223846793005 + 1442695040888963407; // Knuth's, TAOCP volume 2
            call.id += digits[(state >> 33) % digits.size()];
        }
    }
}

} // namespace

std::string_view to_string(FinishReason reason) {
    switch (reason) {
    case FinishReason::stop:
        return "stop";
    case FinishReason::length:
        return "length";
    case FinishReason::tool_calls:
        return "tool_calls";
    case FinishReason::cancelled:
        return "cancelled";
    }
    return "unknown";
}

Status generate(const Model& model, const Request& request, const Sink& sink,
                const StopRequested& stop_requested) {
    ETNA_CHECK(check(request));
    ETNA_TRY(Prompt prompt, encode_prompt(model, request));
    ETNA_CHECK(check_length(model, prompt.content.tokens.size()));
    Finished finished;
    finished.seed = request.seed.value_or(random_seed());
    finished.prompt_tokens = static_cast<uint32_t>(prompt.content.tokens.size());
    ETNA_TRY(engine::Stream stream, submit(model, request, prompt.content, finished.seed));
    if (!prompt.notes.empty())
        sink(Adapted{prompt.notes});

    Answer answer(model, prompt, request, sink);
    bool cancelled = false;
    const engine::Finished last = drain(stream, answer, stop_requested, cancelled);
    if (request.transcript != nullptr) {
        request.transcript->record(model.tokenizer(), prompt.text, std::move(prompt.content),
                                   answer.tokens());
    }
    if (last.error && !cancelled && !answer.stopped())
        return *last.error;
    answer.finish(last.end_token);
    finished.finish_reason = reason_of(answer, last, cancelled);
    finished.tokens = answer.tokens();
    finished.cached_tokens = last.cached_tokens;
    finished.output = answer.output();
    give_ids(finished.output, finished.seed);
    finished.timings = {last.timings.queue_ms, last.timings.prompt_ms, last.timings.generation_ms};
    sink(finished);
    return {};
}

Result<uint32_t> count_prompt_tokens(const Model& model, const Request& request) {
    ETNA_TRY(const Prompt prompt, encode_prompt(model, request));
    return static_cast<uint32_t>(prompt.content.tokens.size());
}

} // namespace etna::generate

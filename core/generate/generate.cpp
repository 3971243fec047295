#include "core/generate/generate.hpp"

#include "core/chat/chat_template.hpp"
#include "core/text/detokenizer.hpp"
#include "core/text/stop_matcher.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::generate {
namespace {

/// How often StopRequested is asked while the engine is silent: short for a person, long for a processor.
constexpr std::chrono::milliseconds stop_poll{50};

std::string_view bytes_of(const text::Tokenizer& tokenizer, std::optional<TokenId> token) {
    return token ? tokenizer.bytes(*token) : std::string_view();
}

struct Prompt {
    std::vector<TokenId> tokens;
    text::TextPosition answer; ///< whether the answer goes on with the prompt's text or begins one
};

Result<Prompt> encode_prompt(const Model& model, const Request& request) {
    const text::Tokenizer& tokenizer = model.tokenizer();
    if (const auto* raw = std::get_if<std::string>(&request.prompt)) {
        ETNA_TRY(auto tokens, tokenizer.encode(*raw, {}));
        return Prompt{std::move(tokens),
                      raw->empty() ? text::TextPosition::beginning : text::TextPosition::continuation};
    }
    if (!model.chat_template()) {
        return Error{ErrorKind::invalid_argument, fmt::format("{} has no chat template", model.name()),
                     "use --raw"};
    }
    ETNA_TRY(const auto shape, chat::ChatTemplate::create(*model.chat_template()));
    const chat::SpecialText special{bytes_of(tokenizer, tokenizer.bos()),
                                    bytes_of(tokenizer, tokenizer.eos())};
    ETNA_TRY(const std::string rendered,
             shape.render(std::get<std::vector<chat::Message>>(request.prompt), special));
    const bool has_bos = !special.bos.empty() && rendered.starts_with(special.bos);
    const auto bos = has_bos ? text::AddBos::never : text::AddBos::as_model_says;
    ETNA_TRY(auto tokens, tokenizer.encode(rendered, {.bos = bos}));
    return Prompt{std::move(tokens), text::TextPosition::beginning};
}

Status check_length(const Model& model, std::size_t prompt_tokens) {
    if (prompt_tokens == 0)
        return Error{ErrorKind::invalid_argument, "the prompt is empty"};
    const uint32_t context = model.context_tokens();
    if (prompt_tokens < context)
        return {};
    std::string hint = "shorten the prompt";
    if (model.trained_context_tokens() > context) {
        hint = fmt::format("raise --ctx-size (the model was trained for {} tokens) or shorten the prompt",
                           model.trained_context_tokens());
    } else {
        hint += fmt::format(", or raise --ctx-size beyond the {} tokens that the model was trained for",
                            model.trained_context_tokens());
    }
    return Error{ErrorKind::invalid_argument,
                 fmt::format("the prompt has {} tokens, but the context holds {} with the answer",
                             prompt_tokens, context),
                 hint};
}

/// Turns one request's tokens into events: stage 10 of a token's life.
class Answer {
public:
    Answer(const Model& model, text::TextPosition position, const Request& request, const Sink& sink)
        : tokenizer_(&model.tokenizer()), detokenizer_(*tokenizer_, {.position = position}),
          stops_(request.stop), tells_tokens_(request.logprobs.has_value()), sink_(&sink) {}

    /// True when the generation shall end here.
    bool push(const engine::TokenEvent& event) {
        tokens_.push_back(event.token);
        if (tells_tokens_ && !refused_)
            refused_ = (*sink_)(token_delta(event)) == Flow::stop;
        return deliver(stops_.push(detokenizer_.push(event.token)));
    }

    /// Delivers what was held back.
    void flush() {
        deliver(stops_.push(detokenizer_.flush()));
        deliver(stops_.flush());
    }

    /// Why push() returned true.
    [[nodiscard]] FinishReason reason() const {
        return stops_.matched() ? FinishReason::stop : FinishReason::cancelled;
    }
    [[nodiscard]] bool stopped() const { return stops_.matched().has_value() || refused_; }
    std::vector<TokenId> take_tokens() { return std::move(tokens_); }

private:
    bool deliver(std::string_view text) {
        if (!text.empty() && !refused_)
            refused_ = (*sink_)(TextDelta{std::string(text)}) == Flow::stop;
        return stopped();
    }

    [[nodiscard]] TokenDelta token_delta(const engine::TokenEvent& event) const {
        const auto logprob_of = [&](TokenId token, float logit) {
            // Rounding may put the sum below a logit that is nearly all of it.
            return TokenLogprob{token, std::string(tokenizer_->bytes(token)),
                                std::min(double{logit} - event.log_sum_exp, 0.0)};
        };
        TokenDelta delta{.chosen = logprob_of(event.token, event.logit), .top = {}};
        for (const sampling::Candidate& candidate : event.top)
            delta.top.push_back(logprob_of(candidate.token, candidate.logit));
        return delta;
    }

    const text::Tokenizer* tokenizer_; ///< borrowed
    text::Detokenizer detokenizer_;
    text::StopMatcher stops_;
    bool tells_tokens_;
    const Sink* sink_; ///< borrowed
    std::vector<TokenId> tokens_;
    bool refused_ = false;
};

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

} // namespace

std::string_view to_string(FinishReason reason) {
    switch (reason) {
    case FinishReason::stop:
        return "stop";
    case FinishReason::length:
        return "length";
    case FinishReason::cancelled:
        return "cancelled";
    }
    return "unknown";
}

Status generate(const Model& model, const Request& request, const Sink& sink,
                const StopRequested& stop_requested) {
    if (std::any_of(request.stop.begin(), request.stop.end(), [](const auto& stop) { return stop.empty(); }))
        return Error{ErrorKind::invalid_argument, "a stop string is empty"};
    if (request.logprobs.value_or(0) > logprobs_max) {
        return Error{ErrorKind::invalid_argument,
                     fmt::format("{} log-probabilities are wanted for each token, and at most {} can be had",
                                 *request.logprobs, logprobs_max)};
    }
    ETNA_TRY(const Prompt prompt, encode_prompt(model, request));
    ETNA_CHECK(check_length(model, prompt.tokens.size()));

    Finished finished;
    finished.seed = request.seed.value_or(random_seed());
    finished.prompt_tokens = static_cast<uint32_t>(prompt.tokens.size());
    sampling::Parameters parameters = with_wishes(model.sampling_defaults(), request.sampling);
    parameters.seed = finished.seed;
    const auto end_tokens = model.tokenizer().end_tokens();
    sampling::Breakers dry_breakers;
    if (parameters.dry_multiplier != 0) {
        ETNA_TRY(dry_breakers, encode_dry_breakers(model.tokenizer(), request.dry_breakers));
    }
    ETNA_TRY(engine::Stream stream,
             model.engine().submit({.prompt = prompt.tokens,
                                    .sampling = parameters,
                                    .logit_bias = request.logit_bias,
                                    .dry_breakers = std::move(dry_breakers),
                                    .top_candidates = request.logprobs.value_or(0),
                                    .max_tokens = request.max_tokens,
                                    .end_tokens = {end_tokens.begin(), end_tokens.end()}}));

    Answer answer(model, prompt.answer, request, sink);
    bool cancelled = false;
    const engine::Finished last = drain(stream, answer, stop_requested, cancelled);
    if (last.error && !cancelled && !answer.stopped())
        return *last.error;
    if (!answer.stopped())
        answer.flush();
    finished.finish_reason =
        answer.stopped() ? answer.reason() : (cancelled ? FinishReason::cancelled : reason_of(last.reason));
    finished.tokens = answer.take_tokens();
    finished.timings = {last.timings.queue_ms, last.timings.prompt_ms, last.timings.generation_ms};
    sink(finished);
    return {};
}

} // namespace etna::generate

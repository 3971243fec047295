#include "core/generate/generation.hpp"

#include "core/generate/answer.hpp"
#include "core/generate/constraint.hpp"
#include "core/generate/prompt.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <iterator>
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
    if (request.choices == 0)
        return Error{ErrorKind::invalid_argument, "no choice is wanted"};
    if (request.logprobs.value_or(0) > logprobs_max) {
        return Error{ErrorKind::invalid_argument,
                     fmt::format("{} log-probabilities are wanted for each token, and at most {} can be had",
                                 *request.logprobs, logprobs_max)};
    }
    return {};
}

/// Everything that ends a sequence, once each.
std::vector<TokenId> end_tokens_of(const Model& model, const Request& request) {
    std::vector<TokenId> tokens = request.stop_tokens;
    if (request.end_tokens == EndTokens::end) {
        const auto own = model.tokenizer().end_tokens();
        tokens.insert(tokens.end(), own.begin(), own.end());
    }
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    return tokens;
}

/// Refuses biases that ban every token, at the answer's beginning or further on: no answer could come of it.
Status check_bans(const Model& model, const Request& request) {
    std::vector<TokenId> banned;
    for (const sampling::LogitBias& one : request.logit_bias) {
        if (std::isinf(one.bias))
            banned.push_back(one.token);
    }
    if (banned.empty())
        return {};
    if (request.min_tokens > 0) { // until then these are banned as well
        const auto ends = end_tokens_of(model, request);
        banned.insert(banned.end(), ends.begin(), ends.end());
    }
    std::sort(banned.begin(), banned.end());
    banned.erase(std::unique(banned.begin(), banned.end()), banned.end());
    if (banned.size() < model.engine().limits().vocabulary)
        return {};
    return Error{ErrorKind::invalid_argument, "logit_bias bans every token that is possible here",
                 "leave at least one token without -infinity"};
}

/// The engine's requests for every choice of one request.
Result<std::vector<engine::Request>> engine_requests(const Model& model, const Request& request,
                                                     const Prompt& prompt, uint32_t seed) {
    ETNA_TRY(const auto grammar, make_grammar(model, request, prompt));
    engine::Request one = {
        .prompt = prompt.content.tokens,
        .kinds = prompt.content.kinds,
        .sampling =
            with_wishes(request.sampling_defaults.value_or(model.sampling_defaults()), request.sampling),
        .logit_bias = request.logit_bias,
        .score_prompt = request.prompt_logprobs && request.logprobs,
        .top_candidates = request.logprobs.value_or(0),
        .max_tokens = request.max_tokens,
        .end_tokens = end_tokens_of(model, request),
        .min_tokens = request.min_tokens,
        .unread_max = request.unread_max,
        .cache_salt = request.cache_salt};
    if (one.max_tokens == 0U)
        one.max_tokens = 1; // it comes with the prompt's last row anyway, and is not told
    if (one.sampling.dry_multiplier != 0) {
        ETNA_TRY(one.dry_breakers, encode_dry_breakers(model.tokenizer(), request.dry_breakers));
    }
    std::vector<engine::Request> all(request.choices, one);
    for (std::size_t choice = 0; choice < all.size(); ++choice) {
        all[choice].sampling.seed = seed + static_cast<uint32_t>(choice);
        all[choice].constraint = make_constraint(grammar);
    }
    return all;
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

/// One answer while it comes.
struct Choice {
    Answer answer;
    engine::Stream* stream; ///< borrowed
    std::size_t request = 0;
    uint32_t seed = 0;
    bool is_empty = false;     ///< no token is wanted
    bool is_cancelled = false; ///< what still comes is surplus
    bool is_reported = false;

    void cancel() {
        is_cancelled = true;
        stream->cancel();
    }

    /// Takes what is there, up to the end.
    std::optional<engine::Finished> read() {
        while (auto event = stream->try_next()) {
            if (auto* finished = std::get_if<engine::Finished>(&*event))
                return std::move(*finished);
            if (!is_cancelled && push(std::get<engine::TokenEvent>(*event)))
                cancel();
        }
        return std::nullopt;
    }

    bool push(const engine::TokenEvent& event) {
        if (event.origin == engine::Origin::prompt)
            return answer.score(event);
        return !is_empty && answer.push(event);
    }

    [[nodiscard]] FinishReason reason(const engine::Finished& last) const {
        if (answer.stopped())
            return answer.reason();
        if (is_cancelled)
            return FinishReason::cancelled;
        if (is_empty)
            return FinishReason::length;
        const FinishReason reason = reason_of(last.reason);
        const bool calls = reason == FinishReason::stop && !answer.output().calls.empty();
        return calls ? FinishReason::tool_calls : reason;
    }
};

} // namespace

struct Generation::State {
    struct Part {
        Request request;
        Prompt prompt;
        uint32_t seed = 0; ///< of its first choice
    };

    const Model* model = nullptr; ///< borrowed
    std::vector<Part> parts;
    std::vector<engine::Stream> streams; ///< of all choices, part by part

    Result<std::deque<Choice>> choices(const ChoiceSink& sink);
    Status report(Choice& choice, const engine::Finished& last) const;
};

Result<std::deque<Choice>> Generation::State::choices(const ChoiceSink& sink) {
    std::deque<Choice> all;
    for (std::size_t index = 0; index < parts.size(); ++index) {
        const Part& part = parts[index];
        for (uint32_t choice = 0; choice < part.request.choices; ++choice) {
            const auto number = static_cast<uint32_t>(all.size());
            const auto numbered = [&sink, number](const Event& event) { return sink(number, event); };
            ETNA_TRY(Answer answer, Answer::create(*model, part.prompt, part.request, numbered));
            all.push_back({.answer = std::move(answer),
                           .stream = &streams[number],
                           .request = index,
                           .seed = part.seed + choice,
                           .is_empty = part.request.max_tokens == 0U});
            if (choice == 0 && !part.prompt.notes.empty())
                sink(number, Adapted{part.prompt.notes});
        }
    }
    return all;
}

/// The end of one choice, after what was held back.
Status Generation::State::report(Choice& choice, const engine::Finished& last) const {
    choice.is_reported = true;
    if (last.error && !choice.is_cancelled)
        return *last.error;
    // What the engine still made of a cancelled answer, its end among it, is not the answer's.
    const auto end_token = choice.is_empty || choice.is_cancelled ? std::nullopt : last.end_token;
    choice.answer.finish(end_token);
    Finished finished;
    finished.finish_reason = choice.reason(last);
    finished.tokens = choice.answer.tokens();
    finished.matched = choice.answer.matched(end_token);
    finished.prompt_tokens = static_cast<uint32_t>(parts[choice.request].prompt.content.tokens.size());
    finished.cached_tokens = last.cached_tokens;
    finished.seed = choice.seed;
    finished.output = choice.answer.output();
    give_ids(finished.output, finished.seed);
    finished.timings = {last.timings.queue_ms, last.timings.prompt_ms, last.timings.generation_ms};
    choice.answer.send_last(finished);
    return {};
}

Generation::Generation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Generation::Generation(Generation&&) noexcept = default;
Generation& Generation::operator=(Generation&&) noexcept = default;
Generation::~Generation() = default;

Result<Generation> Generation::begin(const Model& model, Request request,
                                     const StopRequested& stop_requested) {
    std::vector<Request> one;
    one.push_back(std::move(request));
    return begin_all(model, std::move(one), stop_requested);
}

Result<Generation> Generation::begin_all(const Model& model, std::vector<Request> requests,
                                         const StopRequested& stop_requested) {
    auto state = std::make_unique<State>();
    state->model = &model;
    std::vector<engine::Request> wanted;
    const uint32_t drawn = random_seed(); // one, so that who is told of one can ask for the same again
    for (Request& request : requests) {
        if (stop_requested && stop_requested())
            return Error{ErrorKind::cancelled, "the request is not wanted any more"};
        ETNA_CHECK(check(request));
        ETNA_CHECK(check_bans(model, request));
        State::Part part;
        part.request = std::move(request);
        const EncodeBounds bounds = {.must_fit = !part.request.prompt_tokens_max,
                                     .stop_requested = &stop_requested};
        ETNA_TRY(part.prompt, encode_prompt(model, part.request, bounds));
        ETNA_CHECK(check_length(model, part.prompt.content.tokens.size()));
        ETNA_CHECK(make_parser(part.prompt));
        part.seed = part.request.seed.value_or(drawn);
        ETNA_TRY(auto choices, engine_requests(model, part.request, part.prompt, part.seed));
        std::move(choices.begin(), choices.end(), std::back_inserter(wanted));
        state->parts.push_back(std::move(part));
    }
    ETNA_TRY(state->streams, model.engine().submit_all(std::move(wanted)));
    return Generation(std::move(state));
}

uint32_t Generation::choices() const {
    return static_cast<uint32_t>(state_->streams.size());
}

const std::string& Generation::prompt_text(std::size_t request) const {
    return state_->parts[request].prompt.text;
}

std::span<const TokenId> Generation::prompt_tokens(std::size_t request) const {
    return state_->parts[request].prompt.content.tokens;
}

uint32_t Generation::seed() const {
    return state_->parts.front().seed;
}

Status Generation::finish(const ChoiceSink& sink, const StopRequested& stop_requested) {
    ETNA_TRY(std::deque<Choice> choices, state_->choices(sink));
    for (Choice& choice : choices)
        choice.answer.begin();
    Status status;
    for (std::size_t running = choices.size(); running > 0 && status;) {
        const bool is_unwanted = stop_requested && stop_requested();
        for (Choice& choice : choices) {
            if (choice.is_reported)
                continue;
            if (is_unwanted && !choice.is_cancelled)
                choice.cancel();
            const auto last = choice.read();
            if (last && status) {
                status = state_->report(choice, *last);
                --running;
            }
        }
        if (running > 0 && status)
            wait_any(state_->streams.front(), stop_poll);
    }
    for (const Choice& choice : choices) {
        const State::Part& part = state_->parts[choice.request];
        if (part.request.transcript != nullptr && choice.seed == part.seed)
            part.request.transcript->record(state_->model->tokenizer(), part.prompt.text, part.prompt.content,
                                            choice.answer.tokens());
    }
    return status;
}

} // namespace etna::generate

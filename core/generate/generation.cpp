#include "core/generate/generation.hpp"

#include "core/generate/answer.hpp"
#include "core/generate/engine_requests.hpp"
#include "core/generate/prompt.hpp"
#include "core/generate/ranking.hpp"

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

/// CancelPoll polling interval while the engine is silent: short for a person, long for a processor.
constexpr std::chrono::milliseconds stop_poll{50};

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

/// Returns how many of the ascending `places` are below `tokens`.
uint32_t accepted_before(const std::vector<uint32_t>& places, std::size_t tokens) {
    return static_cast<uint32_t>(std::lower_bound(places.begin(), places.end(), tokens) - places.begin());
}

/// Gives ids to calls without one: nine letters and digits, the format that the strictest templates require.
void give_ids(output::Output& output, int64_t seed) {
    constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    constexpr std::size_t length = 9;
    auto state = static_cast<uint64_t>(seed);
    for (output::Call& call : output.calls) {
        if (!call.id.empty())
            continue;
        for (std::size_t i = 0; i < length; ++i) {
            state = state * 6364136223846793005 + 1442695040888963407; // Knuth's, TAOCP volume 2
            call.id += digits[(state >> 33) % digits.size()];
        }
    }
}

void add_once(std::vector<grammar::DroppedKeyword>& all, grammar::DroppedKeyword one) {
    if (std::find(all.begin(), all.end(), one) == all.end())
        all.push_back(std::move(one));
}

/// One answer while it is generated.
struct Choice {
    Answer answer;
    engine::Stream* stream; ///< borrowed
    std::size_t request = 0;
    int64_t seed = 0;
    KeptAnswer* kept = nullptr; ///< borrowed; null if events are delivered immediately
    bool is_empty = false;      ///< no token is requested
    bool has_beams = false;     ///< the engine ranks the hypotheses at the end
    bool is_cancelled = false;  ///< further tokens are dropped
    bool is_reported = false;

    void cancel() {
        is_cancelled = true;
        stream->cancel();
    }

    /// No more tokens are needed. A beam search has delivered nothing yet, and does so now.
    void end_early() {
        if (has_beams) {
            stream->cancel();
        } else {
            cancel();
        }
    }

    /// Reads the available events, up to the end.
    std::optional<engine::Finished> read() {
        while (auto event = stream->try_next()) {
            if (auto* finished = std::get_if<engine::Finished>(&*event))
                return std::move(*finished);
            if (!is_cancelled && push(std::get<engine::TokenEvent>(*event)))
                cancel();
        }
        return std::nullopt;
    }

    /// Returns whether the answer is complete: the model ended it, or its grammar allows nothing more.
    [[nodiscard]] bool is_whole(const engine::Finished& last) const {
        return !is_empty && !is_cancelled && last.reason == engine::FinishReason::stop;
    }

    bool push(const engine::TokenEvent& event) {
        if (event.origin == engine::Origin::prompt)
            return answer.score(event);
        if (is_empty)
            return false;
        if (kept != nullptr) {
            kept->logprob_sum += double{event.logit} - double{event.log_sum_exp};
            ++kept->tokens;
        }
        return answer.push(event);
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
        int64_t seed = 0;             ///< seed of its first choice
        uint32_t first = 0;           ///< index of its first choice
        std::vector<KeptAnswer> kept; ///< all sampled answers, if only the best are delivered
        std::size_t unreported = 0;   ///< answers in `kept` that have not ended
    };

    const Model* model = nullptr; ///< borrowed
    std::vector<Part> parts;
    std::vector<engine::Stream> streams; ///< of all sampled sequences, part by part
    std::vector<grammar::DroppedKeyword> dropped_keywords;

    Result<std::deque<Choice>> choices(const ChoiceSink& sink);
    Result<Choice> make_choice(std::size_t part, uint32_t place, const ChoiceSink& sink);
    Status report(Choice& choice, const engine::Finished& last) const;
    void tell_best(Part& part, const ChoiceSink& sink) const;
    void record(const std::deque<Choice>& choices) const;
};

Result<std::deque<Choice>> Generation::State::choices(const ChoiceSink& sink) {
    std::deque<Choice> all;
    uint32_t first = 0;
    for (std::size_t index = 0; index < parts.size(); ++index) {
        Part& part = parts[index];
        part.first = first;
        first += part.request.choices;
        part.kept.resize(part.request.best_of.value_or(0));
        part.unreported = part.kept.size();
        if (!part.prompt.notes.empty())
            sink(part.first, Adapted{part.prompt.notes});
        for (uint32_t place = 0; place < part.request.best_of.value_or(part.request.choices); ++place) {
            ETNA_TRY(Choice choice, make_choice(index, place, sink));
            choice.stream = &streams[all.size()];
            all.push_back(std::move(choice));
        }
    }
    return all;
}

Result<Choice> Generation::State::make_choice(std::size_t part, uint32_t place, const ChoiceSink& sink) {
    Part& of = parts[part];
    KeptAnswer* const kept = of.kept.empty() ? nullptr : &of.kept[place];
    Sink own = [&sink, number = of.first + place](const Event& event) { return sink(number, event); };
    if (kept != nullptr) {
        own = [kept](const Event& event) {
            kept->events.push_back(event);
            return SinkResult::proceed;
        };
    }
    ETNA_TRY(Answer answer, Answer::create(*model, of.prompt, of.request, std::move(own)));
    return Choice{.answer = std::move(answer),
                  .stream = nullptr,
                  .request = part,
                  .seed = seed_after(of.seed, place),
                  .kept = kept,
                  .is_empty = of.request.max_tokens == 0U,
                  .has_beams = of.request.beams.has_value()};
}

/// Delivers the best of a part's answers once all of them have ended.
void Generation::State::tell_best(Part& part, const ChoiceSink& sink) const {
    const std::vector<std::size_t> best = rank(part.kept, part.request.choices);
    auto& first_end = std::get<Finished>(part.kept[best.front()].events.back());
    first_end.discarded_tokens = tokens_beside(part.kept, best);
    for (std::size_t place = 0; place < best.size(); ++place) {
        bool is_refused = false;
        for (const Event& event : part.kept[best[place]].events) {
            if (!is_refused || std::holds_alternative<Finished>(event))
                is_refused = sink(part.first + static_cast<uint32_t>(place), event) == SinkResult::stop;
        }
    }
}

/// Flushes held-back text of a choice and delivers its Finished.
Status Generation::State::report(Choice& choice, const engine::Finished& last) const {
    choice.is_reported = true;
    if (last.error && !choice.is_cancelled)
        return *last.error;
    // Tokens generated after a cancellation, even an end token, are not part of the answer.
    const auto end_token = choice.is_empty || choice.is_cancelled ? std::nullopt : last.end_token;
    const auto end_event = end_token ? last.end_event : std::nullopt;
    if (choice.kept != nullptr && end_event)
        choice.kept->end_logprob = double{end_event->logit} - double{end_event->log_sum_exp};
    choice.answer.finish(end_token, choice.is_whole(last));
    Finished finished;
    finished.finish_reason = choice.reason(last);
    finished.tokens = choice.answer.tokens();
    finished.generated_tokens = last.completion_tokens + (last.end_token ? 1 : 0);
    finished.matched = choice.answer.matched(end_token);
    if (end_event && parts[choice.request].request.logprobs)
        finished.end_token = choice.answer.token_delta(*end_event);
    finished.prompt_tokens = static_cast<uint32_t>(parts[choice.request].prompt.content.tokens.size());
    finished.cached_tokens = last.cached_tokens;
    finished.reasoning_tokens = choice.answer.reasoning_tokens();
    // Drafts past the end of the answer count as rejected, even if they were correct.
    finished.accepted_drafts = accepted_before(last.accepted_positions, finished.tokens.size());
    finished.rejected_drafts = last.accepted_drafts + last.rejected_drafts - finished.accepted_drafts;
    finished.seed = choice.seed;
    finished.output = choice.answer.output();
    give_ids(finished.output, finished.seed);
    finished.timings = {last.timings.queue_ms, last.timings.prompt_ms, last.timings.generation_ms};
    choice.answer.send_last(finished);
    return {};
}

/// Records the first choice of each part in its transcript.
void Generation::State::record(const std::deque<Choice>& choices) const {
    for (const Choice& choice : choices) {
        const Part& part = parts[choice.request];
        const std::size_t told = part.kept.empty() ? 0 : rank(part.kept, 1).front();
        if (part.request.transcript != nullptr && choice.seed == seed_after(part.seed, told)) {
            part.request.transcript->record(model->tokenizer(), part.prompt.text, part.prompt.content,
                                            choice.answer.tokens());
        }
    }
}

Generation::Generation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Generation::Generation(Generation&&) noexcept = default;
Generation& Generation::operator=(Generation&&) noexcept = default;
Generation::~Generation() = default;

Result<Generation> Generation::begin(const Model& model, Request request, const CancelPoll& is_cancelled) {
    std::vector<Request> one;
    one.push_back(std::move(request));
    return begin_all(model, std::move(one), {.is_cancelled = is_cancelled});
}

Result<Generation> Generation::begin_all(const Model& model, std::vector<Request> requests,
                                         const PromptCosts& costs) {
    auto state = std::make_unique<State>();
    state->model = &model;
    std::vector<engine::Request> wanted;
    const uint32_t drawn = random_seed(); // one for all requests, so that a reported seed reproduces them
    for (Request& request : requests) {
        if (costs.is_cancelled && costs.is_cancelled())
            return Error{ErrorKind::cancelled, "the request is not wanted any more"};
        ETNA_CHECK(check(request));
        ETNA_CHECK(check_bans(model, request));
        State::Part part;
        part.request = std::move(request);
        const EncodeBounds bounds = {.must_fit = !part.request.prompt_tokens_max, .costs = &costs};
        ETNA_TRY(part.prompt, encode_prompt(model, part.request, bounds));
        ETNA_CHECK(check_length(model, part.prompt.content.tokens.size()));
        ETNA_CHECK(make_parser(part.prompt));
        part.seed = part.request.seed.value_or(drawn);
        ETNA_TRY(auto choices,
                 engine_requests(model, part.request, part.prompt, part.seed, &costs.is_cancelled));
        std::move(choices.all.begin(), choices.all.end(), std::back_inserter(wanted));
        for (grammar::DroppedKeyword& one : choices.dropped_keywords)
            add_once(state->dropped_keywords, std::move(one));
        state->parts.push_back(std::move(part));
    }
    ETNA_TRY(state->streams, model.engine().submit_all(std::move(wanted)));
    return Generation(std::move(state));
}

uint32_t Generation::choices() const {
    uint32_t count = 0;
    for (const State::Part& part : state_->parts)
        count += part.request.choices;
    return count;
}

const std::string& Generation::prompt_text(std::size_t request) const {
    return state_->parts[request].prompt.text;
}

std::span<const TokenId> Generation::prompt_tokens(std::size_t request) const {
    return state_->parts[request].prompt.content.tokens;
}

int64_t Generation::seed() const {
    return state_->parts.front().seed;
}

const std::vector<grammar::DroppedKeyword>& Generation::dropped_keywords() const {
    return state_->dropped_keywords;
}

bool Generation::has_begun() const {
    return std::any_of(state_->streams.begin(), state_->streams.end(),
                       [](const engine::Stream& stream) { return stream.has_begun(); });
}

Status Generation::finish(const ChoiceSink& sink, const CancelPoll& is_cancelled) {
    ETNA_TRY(std::deque<Choice> choices, state_->choices(sink));
    for (Choice& choice : choices)
        choice.answer.begin();
    Status status;
    for (std::size_t running = choices.size(); running > 0 && status;) {
        const bool all_cancelled = is_cancelled && is_cancelled();
        for (Choice& choice : choices) {
            if (choice.is_reported)
                continue;
            if (all_cancelled && !choice.is_cancelled)
                choice.end_early();
            const auto last = choice.read();
            if (last && status) {
                status = state_->report(choice, *last);
                --running;
                State::Part& part = state_->parts[choice.request];
                if (choice.kept != nullptr && status && --part.unreported == 0)
                    state_->tell_best(part, sink);
            }
        }
        if (running > 0 && status)
            wait_any(state_->streams.front(), stop_poll);
    }
    state_->record(choices);
    return status;
}

} // namespace etna::generate

#include "core/generate/generation.hpp"

#include "core/generate/best_of.hpp"
#include "core/generate/engine_requests.hpp"
#include "core/generate/output_processor.hpp"
#include "core/generate/prompt.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::generate {
namespace {

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

/// Returns how many of the ascending `positions` are below `tokens`.
uint32_t accepted_before(const std::vector<uint32_t>& positions, std::size_t tokens) {
    return static_cast<uint32_t>(std::lower_bound(positions.begin(), positions.end(), tokens) -
                                 positions.begin());
}

constexpr uint32_t shift_seed_step = 0x9E3779B9; ///< 2^32 divided by the golden ratio: seeds stay distinct

/// A copy of the request without its prompt and what depends on it.
engine::Request without_prompt(engine::Request request) {
    request.prompt.clear();
    request.kinds.clear();
    request.branch_positions.clear();
    if (request.speculation) { // the texts to look up drafts in begin with the prompt
        request.speculation->prediction.clear();
        request.speculation->texts.reset();
    }
    return request;
}

/// Gives ids to calls without one: nine letters and digits, the format that the strictest templates require.
void assign_call_ids(output::Output& output, int64_t seed) {
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

template <typename T>
void add_unique(std::vector<T>& all, T one) {
    if (std::find(all.begin(), all.end(), one) == all.end())
        all.push_back(std::move(one));
}

/// Joins the ends of two parts of one answer: `next` continues what ended with `before`.
engine::Finished joined(const engine::Finished& before, engine::Finished next) {
    for (uint32_t& position : next.accepted_positions)
        position += before.completion_tokens;
    next.accepted_positions.insert(next.accepted_positions.begin(), before.accepted_positions.begin(),
                                   before.accepted_positions.end());
    next.prompt_tokens = before.prompt_tokens;
    next.completion_tokens += before.completion_tokens;
    next.cached_tokens = before.cached_tokens;
    next.accepted_drafts += before.accepted_drafts;
    next.rejected_drafts += before.rejected_drafts;
    next.timings = {.queue_ms = before.timings.queue_ms,
                    .prompt_ms = before.timings.prompt_ms,
                    .generation_ms = before.timings.generation_ms + next.timings.queue_ms +
                                     next.timings.prompt_ms + next.timings.generation_ms};
    return next;
}

/// Totals of a choice's streams that ended with a context shift.
struct EndedStreams {
    uint32_t generated_tokens = 0;
    std::optional<engine::PromptProgress> prompt = {}; ///< of the first
};

/// One answer while it is generated.
struct Choice {
    OutputProcessor answer;
    engine::Stream* stream; ///< borrowed
    std::size_t request = 0;
    int64_t seed = 0;
    BufferedAnswer* buffer = nullptr; ///< borrowed; null if events are delivered immediately
    bool generates_nothing = false;   ///< max_tokens is 0
    bool has_beams = false;           ///< the engine ranks the hypotheses at the end
    bool is_cancelled = false;        ///< further tokens are dropped
    bool is_reported = false;
    std::vector<TokenId> context = {};           ///< the engine's prompt, if the context may be shifted
    std::size_t context_begin = 0;               ///< answer tokens that are not after it
    uint32_t shifts = 0;                         ///< of the context, so far
    std::optional<engine::Finished> before = {}; ///< the end of the part before the last shift

    void cancel() {
        is_cancelled = true;
        stream->cancel();
    }

    /// Ends the generation early. A beam search then delivers its current best hypotheses.
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

    /// Returns whether the answer is complete: the model ended it, or its grammar allows no further token.
    [[nodiscard]] bool is_complete(const engine::Finished& last) const {
        return !generates_nothing && !is_cancelled && last.reason == engine::FinishReason::stop;
    }

    bool push(const engine::TokenEvent& event) {
        if (event.origin == engine::Origin::prompt)
            return answer.push_prompt_token(event);
        if (generates_nothing)
            return false;
        if (buffer != nullptr) {
            buffer->logprob_sum += double{event.logit} - double{event.log_sum_exp};
            ++buffer->tokens;
        }
        return answer.push(event);
    }

    [[nodiscard]] FinishReason reason(const engine::Finished& last) const {
        if (answer.stopped())
            return answer.reason();
        if (is_cancelled)
            return FinishReason::cancelled;
        if (generates_nothing)
            return FinishReason::length;
        const FinishReason reason = reason_of(last.reason);
        const bool calls = reason == FinishReason::stop && !answer.output().calls.empty();
        return calls ? FinishReason::tool_calls : reason;
    }
};

} // namespace

struct Generation::State {
    struct RequestState {
        Request request;
        Prompt prompt;
        int64_t seed = 0;                    ///< seed of its first choice
        uint32_t first_choice = 0;           ///< index of its first choice
        std::vector<BufferedAnswer> sampled; ///< all sampled answers, if only the best are delivered
        std::size_t unreported = 0;          ///< answers in `sampled` that have not ended
        std::optional<engine::Request> continuation = {}; ///< without prompt; empty: no ContextShift
    };

    const Model* model = nullptr; ///< borrowed
    std::vector<RequestState> requests;
    std::vector<engine::Stream> streams;     ///< of all sampled sequences, request by request
    std::vector<EndedStreams> ended_streams; ///< of the same sequences
    std::vector<grammar::DroppedKeyword> dropped_keywords;

    Result<std::deque<Choice>> choices(const ChoiceSink& sink);
    Result<Choice> make_choice(std::size_t request, uint32_t index, const ChoiceSink& sink);
    [[nodiscard]] std::vector<TokenId> full_context(const Choice& choice, const engine::Finished& last) const;
    [[nodiscard]] engine::Request continued(const Choice& choice, const std::vector<TokenId>& context) const;
    bool shift(Choice& choice, const engine::Finished& last);
    Status report(Choice& choice, const engine::Finished& last) const;
    void deliver_best(RequestState& state, const ChoiceSink& sink) const;
    void record(const std::deque<Choice>& choices) const;
};

Result<std::deque<Choice>> Generation::State::choices(const ChoiceSink& sink) {
    std::deque<Choice> all;
    ended_streams.resize(streams.size());
    uint32_t first = 0;
    for (std::size_t request = 0; request < requests.size(); ++request) {
        RequestState& state = requests[request];
        state.first_choice = first;
        first += state.request.choices;
        state.sampled.resize(state.request.best_of.value_or(0));
        state.unreported = state.sampled.size();
        if (!state.prompt.adapted.is_empty())
            sink(state.first_choice, state.prompt.adapted);
        for (uint32_t index = 0; index < state.request.best_of.value_or(state.request.choices); ++index) {
            ETNA_TRY(Choice choice, make_choice(request, index, sink));
            choice.stream = &streams[all.size()];
            all.push_back(std::move(choice));
        }
    }
    return all;
}

Result<Choice> Generation::State::make_choice(std::size_t request, uint32_t index, const ChoiceSink& sink) {
    RequestState& state = requests[request];
    BufferedAnswer* const buffer = state.sampled.empty() ? nullptr : &state.sampled[index];
    Sink own = [&sink, number = state.first_choice + index](const Event& event) {
        return sink(number, event);
    };
    if (buffer != nullptr) {
        own = [buffer](const Event& event) {
            buffer->events.push_back(event);
            return SinkResult::proceed;
        };
    }
    ETNA_TRY(OutputProcessor answer,
             OutputProcessor::create(model->file().tokenizer, state.prompt, state.request, std::move(own)));
    return Choice{.answer = std::move(answer),
                  .stream = nullptr,
                  .request = request,
                  .seed = choice_seed(state.seed, index),
                  .buffer = buffer,
                  .generates_nothing = state.request.max_tokens == 0U,
                  .has_beams = state.request.beams.has_value()};
}

/// Delivers the best of a request's answers once all of them have ended.
void Generation::State::deliver_best(RequestState& state, const ChoiceSink& sink) const {
    const std::vector<std::size_t> best = rank(state.sampled, state.request.choices);
    auto& first_end = std::get<Finished>(state.sampled[best.front()].events.back());
    first_end.discarded_tokens = discarded_tokens(state.sampled, best);
    for (std::size_t i = 0; i < best.size(); ++i) {
        bool is_stopped = false;
        for (const Event& event : state.sampled[best[i]].events) {
            if (!is_stopped || std::holds_alternative<Finished>(event))
                is_stopped = sink(state.first_choice + static_cast<uint32_t>(i), event) == SinkResult::stop;
        }
    }
}

/// Returns the tokens of a choice's context if it is full and the answer may continue; otherwise empty.
std::vector<TokenId> Generation::State::full_context(const Choice& choice,
                                                     const engine::Finished& last) const {
    const RequestState& state = requests[choice.request];
    if (!state.continuation || choice.is_cancelled || choice.answer.stopped() ||
        last.reason != engine::FinishReason::length)
        return {};
    const std::vector<TokenId>& answer = choice.answer.tokens();
    const std::vector<TokenId>& prompt = state.prompt.content.tokens;
    std::vector<TokenId> context = choice.shifts == 0 ? prompt : choice.context;
    context.insert(context.end(), answer.begin() + static_cast<std::ptrdiff_t>(choice.context_begin),
                   answer.end());
    const std::size_t length_max =
        std::max<std::size_t>(model->file().trained_context_tokens, model->context_tokens());
    const bool is_over = state.request.max_tokens ? answer.size() >= *state.request.max_tokens
                                                  : prompt.size() + answer.size() >= length_max;
    return context.size() < model->context_tokens() || is_over ? std::vector<TokenId>() : context;
}

/// Returns the engine request that continues a choice after `context`.
engine::Request Generation::State::continued(const Choice& choice,
                                             const std::vector<TokenId>& context) const {
    const RequestState& state = requests[choice.request];
    const std::vector<engine::RowKind>& kinds = state.prompt.content.kinds;
    const auto generated = static_cast<uint32_t>(choice.answer.tokens().size());
    engine::Request next = *state.continuation;
    next.prompt = context;
    next.kinds.assign(kinds.begin(), kinds.begin() + static_cast<std::ptrdiff_t>(state.prompt.kept_tokens));
    next.kinds.resize(context.size(), engine::RowKind::prefill);
    if (next.max_tokens)
        next.max_tokens = *next.max_tokens - generated;
    next.min_tokens -= std::min(next.min_tokens, generated);
    // Another seed, because a draw depends on the seed and on the position, which recurs.
    next.sampling.seed = sampler_seed(choice.seed) + (choice.shifts + 1) * shift_seed_step;
    return next;
}

/// Continues an answer that ended because the context is full, in a context from which tokens are dropped.
/// Returns whether it continues; it does not if the engine refuses it.
bool Generation::State::shift(Choice& choice, const engine::Finished& last) {
    std::vector<TokenId> context = full_context(choice, last);
    if (context.empty())
        return false;
    const RequestState& state = requests[choice.request];
    context = shifted(context, state.prompt.kept_tokens, *state.request.context_shift);
    auto stream = model->engine().resubmit(continued(choice, context), *choice.stream);
    if (!stream)
        return false;
    EndedStreams& ended = ended_streams[static_cast<std::size_t>(choice.stream - streams.data())];
    ended.generated_tokens += choice.stream->generated_tokens();
    if (!ended.prompt)
        ended.prompt = choice.stream->progress();
    *choice.stream = std::move(*stream);
    choice.before = choice.before ? joined(*choice.before, last) : last;
    choice.context = std::move(context);
    choice.context_begin = choice.answer.tokens().size();
    ++choice.shifts;
    return true;
}

/// Flushes held-back text of a choice and delivers its Finished.
Status Generation::State::report(Choice& choice, const engine::Finished& last) const {
    choice.is_reported = true;
    if (last.error && !choice.is_cancelled)
        return *last.error;
    // Tokens generated after a cancellation, even an end token, are not state of the answer.
    const auto end_token = choice.generates_nothing || choice.is_cancelled ? std::nullopt : last.end_token;
    const auto end_event = end_token ? last.end_event : std::nullopt;
    if (choice.buffer != nullptr && end_event)
        choice.buffer->end_logprob = double{end_event->logit} - double{end_event->log_sum_exp};
    choice.answer.finish(end_token, end_event, choice.is_complete(last));
    Finished finished;
    finished.finish_reason = choice.reason(last);
    finished.tokens = choice.answer.tokens();
    if (const auto shown = choice.answer.shown_end())
        finished.tokens.push_back(*shown);
    finished.generated_tokens = last.completion_tokens + (last.end_token ? 1 : 0);
    finished.matched = choice.answer.matched(end_token);
    if (end_event && requests[choice.request].request.logprobs)
        finished.end_token = choice.answer.token_delta(*end_event);
    finished.prompt_tokens = static_cast<uint32_t>(requests[choice.request].prompt.content.tokens.size());
    finished.cached_tokens = last.cached_tokens;
    finished.context_shifts = choice.shifts + (requests[choice.request].prompt.is_shortened ? 1 : 0);
    finished.reasoning_tokens = choice.answer.reasoning_tokens();
    // Drafts past the end of the answer count as rejected, even if they were correct.
    finished.accepted_drafts = accepted_before(last.accepted_positions, finished.tokens.size());
    finished.rejected_drafts = last.accepted_drafts + last.rejected_drafts - finished.accepted_drafts;
    finished.seed = choice.seed;
    finished.output = choice.answer.output();
    assign_call_ids(finished.output, finished.seed);
    finished.timings = {last.timings.queue_ms, last.timings.prompt_ms, last.timings.generation_ms};
    choice.answer.send_last(finished);
    return {};
}

/// Records the first choice of each request in its transcript.
void Generation::State::record(const std::deque<Choice>& choices) const {
    for (const Choice& choice : choices) {
        const RequestState& state = requests[choice.request];
        const std::size_t delivered = state.sampled.empty() ? 0 : rank(state.sampled, 1).front();
        if (state.request.transcript != nullptr && choice.seed == choice_seed(state.seed, delivered)) {
            state.request.transcript->record(model->file().tokenizer, state.prompt.text,
                                             state.prompt.barriers, state.prompt.content,
                                             choice.answer.tokens());
        }
    }
}

Generation::Generation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Generation::Generation(Generation&&) noexcept = default;
Generation& Generation::operator=(Generation&&) noexcept = default;
Generation::~Generation() = default;

Result<Generation> Generation::begin(const Model& model, Request request, const CancelPoll& is_cancelled) {
    std::vector<Request> requests;
    requests.push_back(std::move(request));
    return begin_all(model, std::move(requests), {.is_cancelled = is_cancelled});
}

Result<Generation> Generation::begin_all(const Model& model, std::vector<Request> requests,
                                         const PromptBudget& budget) {
    auto state = std::make_unique<State>();
    state->model = &model;
    std::vector<engine::Request> submitted;
    const uint32_t shared_seed =
        random_seed(); // one for all requests, so that a reported seed reproduces them
    for (Request& request : requests) {
        if (budget.is_cancelled && budget.is_cancelled())
            return Error{ErrorKind::cancelled, "the request was cancelled"};
        ETNA_CHECK(check(request));
        ETNA_CHECK(check_bans(model, request));
        State::RequestState entry;
        entry.request = std::move(request);
        const EncodeLimits limits = {.context_tokens = model.context_tokens(),
                                     .must_fit =
                                         !entry.request.prompt_tokens_max && !shortens_prompt(entry.request),
                                     .finds_branches = model.engine().limits().state_slots > 0,
                                     .budget = &budget};
        ETNA_TRY(entry.prompt, encode_prompt(model.file(), model.defaults(), entry.request, limits));
        ETNA_CHECK(check_length(model.file(), entry.prompt.content.tokens.size(), limits.context_tokens));
        ETNA_CHECK(make_parser(entry.prompt));
        entry.seed = entry.request.seed.value_or(shared_seed);
        ETNA_TRY(auto choices,
                 engine_requests(model, entry.request, entry.prompt, entry.seed, budget.is_cancelled));
        if (continues_answer(entry.request))
            entry.continuation = without_prompt(choices.all.front());
        std::move(choices.all.begin(), choices.all.end(), std::back_inserter(submitted));
        for (grammar::DroppedKeyword& one : choices.dropped_keywords)
            add_unique(state->dropped_keywords, std::move(one));
        state->requests.push_back(std::move(entry));
    }
    ETNA_TRY(state->streams, model.engine().submit_all(std::move(submitted)));
    return Generation(std::move(state));
}

uint32_t Generation::choices() const {
    uint32_t count = 0;
    for (const State::RequestState& state : state_->requests)
        count += state.request.choices;
    return count;
}

const std::string& Generation::prompt_text(std::size_t request) const {
    return state_->requests[request].prompt.text;
}

std::span<const TokenId> Generation::prompt_tokens(std::size_t request) const {
    return state_->requests[request].prompt.content.tokens;
}

const Request& Generation::request(std::size_t request) const {
    return state_->requests[request].request;
}

uint32_t Generation::generated_tokens(uint32_t choice) const {
    const std::size_t stream = std::min<std::size_t>(choice, state_->streams.size() - 1);
    const auto& ended = state_->ended_streams;
    return (ended.empty() ? 0 : ended[stream].generated_tokens) + state_->streams[stream].generated_tokens();
}

int64_t Generation::seed() const {
    return state_->requests.front().seed;
}

const std::vector<grammar::DroppedKeyword>& Generation::dropped_keywords() const {
    return state_->dropped_keywords;
}

Adapted Generation::adapted() const {
    Adapted all;
    for (const auto& request : state_->requests) {
        for (const std::string& note : request.prompt.adapted.notes)
            add_unique(all.notes, note);
        for (const std::string& name : request.prompt.adapted.dropped)
            add_unique(all.dropped, name);
    }
    return all;
}

bool Generation::has_begun() const {
    return std::any_of(state_->streams.begin(), state_->streams.end(),
                       [](const engine::Stream& stream) { return stream.has_begun(); });
}

std::optional<engine::PromptProgress> Generation::prompt_progress(std::size_t request) const {
    std::size_t stream = 0;
    for (std::size_t before = 0; before < request; ++before) {
        const Request& one = state_->requests[before].request;
        stream += one.best_of.value_or(one.choices);
    }
    const auto& ended = state_->ended_streams;
    const bool was_shifted = !ended.empty() && ended[stream].prompt;
    return was_shifted ? ended[stream].prompt : state_->streams[stream].progress();
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
            if (last && status && state_->shift(choice, *last))
                continue;
            if (last && status) {
                status = state_->report(choice, choice.before ? joined(*choice.before, *last) : *last);
                --running;
                State::RequestState& state = state_->requests[choice.request];
                if (choice.buffer != nullptr && status && --state.unreported == 0)
                    state_->deliver_best(state, sink);
            }
        }
        if (running > 0 && status)
            wait_any(state_->streams.front(), cancel_poll_interval);
    }
    state_->record(choices);
    return status;
}

Status generate(const Model& model, const Request& request, const Sink& sink,
                const CancelPoll& is_cancelled) {
    ETNA_TRY(Generation generation, Generation::begin(model, request));
    return generation.finish([&sink](uint32_t /*choice*/, const Event& event) { return sink(event); },
                             is_cancelled);
}

Result<EncodedPrompt> encode(const Model& model, const Request& request, const PromptBudget& budget) {
    ETNA_TRY(Prompt prompt, encode_prompt(model.file(), model.defaults(), request,
                                          {.context_tokens = model.context_tokens(), .budget = &budget}));
    return EncodedPrompt{.text = std::move(prompt.text),
                         .tokens = std::move(prompt.content.tokens),
                         .adapted = std::move(prompt.adapted)};
}

Result<std::string> render(const Model& model, const Request& request, const PromptBudget& budget) {
    ETNA_TRY(auto rendered,
             render_conversation(model.file(), model.defaults(), std::get<chat::Conversation>(request.prompt),
                                 request, budget));
    return std::move(rendered.text);
}

Result<uint32_t> count_prompt_tokens(const Model& model, const Request& request) {
    ETNA_TRY(const EncodedPrompt prompt, encode(model, request));
    return static_cast<uint32_t>(prompt.tokens.size());
}

} // namespace etna::generate

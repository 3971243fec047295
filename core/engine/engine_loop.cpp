#include "core/engine/engine_loop.hpp"

#include "core/base/log.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include <fmt/format.h>

namespace etna::engine {
namespace {

EngineStats load_of(const Scheduler& scheduler) {
    EngineStats load = {.waiting = scheduler.waiting_count(),
                        .waiting_prioritized = scheduler.waiting_prioritized(),
                        .running = scheduler.running_count(),
                        .page_tokens = scheduler.cache().page_tokens(),
                        .prefix_pages = scheduler.cache().prefix_pages(),
                        .preemptions = scheduler.preemptions()};
    for (const PagePool& pool : scheduler.cache().pools()) {
        load.pages_total += pool.page_count();
        load.pages_used += pool.page_count() - pool.available();
        load.pages_cached += pool.cached();
    }
    return load;
}

/// A client with at most this many requests can still submit when others have filled the queue.
constexpr std::size_t light_client_requests_max = 16;

/// Returns the number of generated tokens that the event carries.
uint32_t generated_tokens(const Event& event) {
    if (const auto* token = std::get_if<TokenEvent>(&event))
        return token->origin == Origin::generation ? 1 : 0;
    return std::get<Finished>(event).end_token ? 1 : 0;
}

double milliseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

} // namespace

Engine::Loop::Loop(std::unique_ptr<Executor> executor, std::unique_ptr<Executor> draft,
                   const EngineOptions& options, const HashKey& hash_key)
    : executor_(std::move(executor)), limits_(executor_->limits()), queue_max_(options.queue_max),
      scheduler_(limits_, {.hash_key = hash_key, .model_salt = options.model_salt}),
      draft_model_(draft == nullptr ? nullptr
                                    : std::make_unique<DraftModel>(std::move(draft),
                                                                   SchedulerOptions{.hash_key = hash_key})),
      prefill_budget_(options.prefill_step_ms, limits_.batch_rows_max), stats_(load_of(scheduler_)),
      thread_([this] { run(); }) {}

Engine::Loop::~Loop() {
    {
        const std::scoped_lock lock(wake_->mutex);
        is_stopping_ = true;
    }
    wake_->changed.notify_one();
    thread_.join();
}

Result<std::vector<Stream>> Engine::Loop::submit_all(std::vector<Request> requests,
                                                     std::shared_ptr<WakeSignal> reader) {
    for (const Request& request : requests)
        ETNA_CHECK(check(request, limits_));
    if (const uint64_t max = uint64_t{queue_max_} + limits_.sequences_max; requests.size() > max) {
        return Error{
            ErrorKind::invalid_argument,
            fmt::format("{} answers at once; the maximum that can run or wait is {}", requests.size(), max)};
    }
    make_draft_texts(requests, limits_.context_tokens);
    std::vector<Stream> streams;
    if (reader == nullptr)
        reader = std::make_shared<WakeSignal>();
    {
        const std::scoped_lock lock(wake_->mutex);
        if (closed_)
            return *closed_;
        const ClientId client = requests.empty() ? 0 : requests.front().client;
        if (!has_capacity(client, requests)) {
            return Error{ErrorKind::busy,
                         fmt::format("{} requests are waiting already", inbox_.size() + stats_.waiting),
                         "retry when a running request has finished"};
        }
        requests_ += requests.size();
        requests_of_[client] += requests.size();
        const RequestId request_group = next_id_;
        for (Request& request : requests) {
            Channels channels;
            for (uint32_t answer = 0; answer < (request.beams ? request.beams->answers : 1); ++answer) {
                streams.emplace_back(
                    channels.emplace_back(std::make_shared<Channel>(request.unread_max, wake_, reader)));
            }
            inbox_.push_back(
                {next_id_++, request_group, std::move(request), std::move(channels), Clock::now()});
        }
    }
    wake_->changed.notify_one();
    return streams;
}

/// Whether these requests of one client may wait. Those of lowered priority leave half of the queue to the
/// others. Precondition: the mutex of `wake_` is held.
bool Engine::Loop::has_capacity(ClientId client, const std::vector<Request>& requests) const {
    const auto is_lowered = [](const Request& request) { return request.priority > 0; };
    const std::size_t left = std::ranges::any_of(requests, is_lowered) ? queue_max_ / 2 : 0;
    const std::size_t max = std::size_t{queue_max_} + limits_.sequences_max - left;
    const std::size_t sum = requests_ + requests.size();
    if (sum <= max || (left > 0 && requests_ == 0))
        return true;
    const auto own = requests_of_.find(client);
    const std::size_t total = requests.size() + (own == requests_of_.end() ? 0 : own->second);
    return total <= std::min<std::size_t>(light_client_requests_max, queue_max_ - left) &&
           sum <= max + queue_max_;
}

void Engine::Loop::run() {
    std::optional<Error> failure;
    try {
        if (const Status status = work(); !status)
            failure = status.error();
    } catch (const std::bad_alloc&) {
        failure = Error{ErrorKind::out_of_memory, "the engine ran out of host memory"};
    } catch (const std::exception& exception) {
        failure = Error{ErrorKind::internal, fmt::format("the engine stopped: {}", exception.what())};
    }
    close(failure ? FinishReason::error : FinishReason::cancelled, failure);
    // A failed engine releases its memory and its turn on the device at once.
    draft_model_.reset();
    executor_.reset();
    if (observer_ != nullptr)
        observer_->end();
}

Status Engine::Loop::work() {
    scheduler_.use(workers_);
    while (take_submissions())
        ETNA_CHECK(step());
    while (!in_flight_.empty()) // the device finishes its steps before its memory is freed
        ETNA_CHECK(read_outputs());
    return {};
}

/// Moves the inbox into the scheduler; sleeps while there is nothing to do. Returns false if the engine is
/// stopping.
bool Engine::Loop::take_submissions() {
    std::vector<Submission> taken;
    {
        std::unique_lock lock(wake_->mutex);
        const bool is_idle = waits_for_signal_ || (scheduler_.is_idle() && in_flight_.empty());
        update_stats();
        wake_->changed.wait(
            lock, [&] { return !is_idle || is_stopping_ || !inbox_.empty() || wake_->is_signalled; });
        wake_->is_signalled = false;
        if (is_stopping_)
            return false;
        add_inbox(stats_);
        taken.swap(inbox_);
        if (new_observer_ != nullptr) {
            observer_ = std::move(new_observer_);
            scheduler_.record_cache_changes();
        }
    }
    for (Submission& submission : taken) {
        active_.emplace(submission.id, ActiveRequest{.client = submission.request.client,
                                                     .channels = std::move(submission.channels)});
        scheduler_.add(submission.id, std::move(submission.request), submission.submitted,
                       submission.request_group);
    }
    return true;
}

/// Submits a batch if it is the executor's turn and fewer than in_flight_max are in flight; waits for the
/// oldest otherwise, or if nothing can run.
Status Engine::Loop::step() {
    workers_.begin_step();
    apply_backpressure();
    waits_for_signal_ = false;
    // While other models have the device, outputs are read now and not after the next turn.
    if (in_flight_.empty() || (in_flight_.size() < limits_.in_flight_max && executor_->has_turn())) {
        ETNA_TRY(const bool started, submit_batch());
        if (started && in_flight_.size() < limits_.in_flight_max)
            return {};
    }
    return in_flight_.empty() ? Status() : read_outputs();
}

void Engine::Loop::draft() {
    const std::vector<DraftRequest> requests = scheduler_.draft();
    if (requests.empty() || draft_model_ == nullptr)
        return;
    const Clock::time_point start = Clock::now();
    auto drafts = draft_model_->draft(requests);
    if (!drafts)
        return drop_draft_model(drafts.error());
    uint32_t tokens = 0;
    bool is_measure = true; // false if the time includes that of a prompt
    for (std::size_t i = 0; i < requests.size(); ++i) {
        tokens += static_cast<uint32_t>((*drafts)[i].tokens.size());
        is_measure = is_measure && requests[i].is_caught_up && (*drafts)[i].is_caught_up;
    }
    if (is_measure)
        draft_costs_.record_drafts(tokens, milliseconds_since(start));
    scheduler_.set_drafts(requests, std::move(drafts).value());
}

/// Drops a draft model that failed; the answers do not depend on it.
void Engine::Loop::drop_draft_model(const Error& error) {
    log(LogLevel::warning,
        fmt::format("draft model failed; speculative decoding is off until the model is reloaded: {}",
                    error.message));
    scheduler_.drop_draft_model();
    draft_model_.reset();
}

/// Returns whether a batch was submitted.
Result<bool> Engine::Loop::submit_batch() {
    draft();
    const Batch& batch = scheduler_.schedule(updates_, Clock::now());
    report_cache();
    const bool is_stuck =
        batch.rows.empty() && updates_.empty() && in_flight_.empty() && !scheduler_.is_idle();
    deliver();
    waits_for_signal_ = is_stuck && (scheduler_.has_backpressure() || scheduler_.waits_for_constraints());
    if (is_stuck && !waits_for_signal_)
        return Error{ErrorKind::internal, "requests are waiting, and none can run"};
    if (limits_.verifies_steps)
        ETNA_CHECK(scheduler_.verify());
    if (batch.rows.empty())
        return false;
    ETNA_TRY(const Ticket ticket, executor_->submit(batch));
    in_flight_.push_back(describe(batch, ticket));
    scheduler_.prepare_constraints();
    const std::scoped_lock lock(wake_->mutex);
    update_stats();
    return true;
}

Engine::Loop::InFlight Engine::Loop::describe(const Batch& batch, Ticket ticket) {
    InFlight step = {
        .ticket = ticket, .rows = static_cast<uint32_t>(batch.rows.size()), .submitted = Clock::now()};
    for (const Row& row : batch.rows) {
        step.prefill_rows += row.kind == RowKind::prefill ? 1 : 0;
        step.requests_drafts = step.requests_drafts || row.requests_draft;
    }
    if (step.prefill_rows == 0)
        step.drafts = step.rows - static_cast<uint32_t>(batch.sequences.size());
    return step;
}

EngineStats Engine::Loop::load() {
    const std::scoped_lock lock(wake_->mutex);
    EngineStats load = stats_;
    add_inbox(load);
    return load;
}

/// Precondition: the mutex of `wake_` is held.
void Engine::Loop::update_stats() {
    stats_ = load_of(scheduler_);
    stats_.prompt_tokens_computed = prompt_tokens_computed_;
    stats_.tokens_generated = tokens_generated_;
}

/// Counts the submissions in the inbox as waiting. Precondition: the mutex of `wake_` is held.
void Engine::Loop::add_inbox(EngineStats& load) const {
    load.waiting += static_cast<uint32_t>(inbox_.size());
    for (const Submission& submission : inbox_)
        load.waiting_prioritized.add(submission.request.priority, 1);
}

bool Engine::Loop::has_failed() {
    const std::scoped_lock lock(wake_->mutex);
    return closed_.has_value();
}

Status Engine::Loop::read_outputs() {
    const InFlight step = in_flight_.front();
    in_flight_.pop_front();
    ETNA_TRY(const Outputs outputs, executor_->wait(step.ticket));
    // A batch starts when it is submitted, or when the previous one is done.
    const double step_ms = milliseconds_since(std::max(step.submitted, read_));
    read_ = Clock::now();
    prompt_tokens_computed_ += step.prefill_rows;
    if (step.prefill_rows > 0) {
        prefill_budget_.record_step(step.prefill_rows, step.rows, step_ms);
        scheduler_.set_prefill_rows_max(prefill_budget_.rows());
    } else {
        prefill_budget_.record_decode(step_ms);
        if (step.drafts > 0 || !step.requests_drafts)
            draft_costs_.record_step(step.drafts, step_ms);
        scheduler_.set_costs(draft_costs_.costs());
    }
    Status status = scheduler_.process_outputs(outputs, updates_, Clock::now());
    report_cache();
    deliver();
    return status;
}

void Engine::Loop::observe_cache(std::shared_ptr<CacheObserver> observer) {
    const std::scoped_lock lock(wake_->mutex);
    if (!closed_)
        new_observer_ = std::move(observer);
}

/// Reports the cache's changes to the observer before any reader can see the end of a request.
void Engine::Loop::report_cache() {
    if (observer_ == nullptr)
        return;
    CacheJournal& journal = *scheduler_.cache_journal();
    std::vector<CacheChange> changes = journal.take_changes();
    if (has_lost_changes_) {
        if (!observer_->has_room())
            return;
        changes = journal.snapshot();
    }
    if (!changes.empty())
        has_lost_changes_ = !observer_->take(std::move(changes));
}

/// Cancels the requests that all readers have cancelled, and pauses those with a slow reader.
void Engine::Loop::apply_backpressure() {
    for (const auto& [id, request] : active_) {
        const Channels& channels = request.channels;
        if (std::all_of(channels.begin(), channels.end(),
                        [](const auto& one) { return one->is_cancelled(); })) {
            scheduler_.cancel(id, updates_, Clock::now());
        } else {
            if (const auto progress = scheduler_.progress(id))
                channels.front()->set_progress(*progress);
            scheduler_.set_backpressure(id,
                                        channels.front()->is_full() ? Backpressure::on : Backpressure::off);
        }
    }
    deliver();
}

void Engine::Loop::deliver() {
    if (updates_.empty())
        return;
    count_updates();
    for (Update& update : updates_) {
        const auto found = active_.find(update.request);
        if (found == active_.end())
            continue; // delivered by an earlier call, which then ran out of memory
        Channel& channel = *found->second.channels[update.answer];
        if (auto* token = std::get_if<TokenEvent>(&update.event)) {
            if (const auto progress = scheduler_.progress(update.request)) // empty after the last token
                found->second.channels.front()->set_progress(*progress);
            channel.push(std::move(*token));
            continue;
        }
        channel.finish(std::get<Finished>(std::move(update.event)));
        if (update.answer + 1 == found->second.channels.size()) // the answers of a request end in order
            active_.erase(found);
    }
    updates_.clear();
}

/// Updates the counts before any reader can see an end and submit again.
void Engine::Loop::count_updates() {
    const std::scoped_lock lock(wake_->mutex);
    for (const Update& update : updates_) {
        tokens_generated_ += generated_tokens(update.event);
        const auto found = active_.find(update.request);
        if (!std::holds_alternative<Finished>(update.event) || found == active_.end() ||
            std::exchange(found->second.has_ended, true))
            continue;
        --requests_;
        if (--requests_of_.at(found->second.client) == 0)
            requests_of_.erase(found->second.client);
    }
    update_stats();
}

/// Ends every request, accepted or still in the inbox, and refuses new ones.
void Engine::Loop::close(FinishReason reason, const std::optional<Error>& error) {
    scheduler_.end_all(reason, error, updates_, Clock::now());
    deliver();
    const std::scoped_lock lock(wake_->mutex);
    closed_ = error.value_or(Error{ErrorKind::cancelled, "the engine was shut down"});
    for (const Submission& submission : inbox_) {
        Finished finished;
        finished.reason = reason;
        finished.error = error;
        finished.prompt_tokens = static_cast<uint32_t>(submission.request.prompt.size());
        for (const auto& channel : submission.channels)
            channel->finish(finished);
    }
    inbox_.clear();
}

} // namespace etna::engine

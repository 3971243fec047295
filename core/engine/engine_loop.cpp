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
                        .running = scheduler.running_count(),
                        .preemptions = scheduler.preemptions()};
    for (const PagePool& pool : scheduler.cache().pools()) {
        load.pages_total += pool.page_count();
        load.pages_used += pool.page_count() - pool.available();
        load.pages_cached += pool.kept();
    }
    return load;
}

/// A client with at most this many requests can still submit when others have filled the queue.
constexpr std::size_t requests_of_light_client = 16;

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
        const std::scoped_lock lock(bell_->mutex);
        is_stopping_ = true;
    }
    bell_->changed.notify_one();
    thread_.join();
}

Result<std::vector<Stream>> Engine::Loop::submit_all(std::vector<Request> requests) {
    for (const Request& request : requests)
        ETNA_CHECK(check(request, limits_));
    if (const uint64_t most = uint64_t{queue_max_} + limits_.sequences_max; requests.size() > most) {
        return Error{ErrorKind::invalid_argument,
                     fmt::format("{} answers at once are wanted, and at most {} can be worked on or wait",
                                 requests.size(), most)};
    }
    make_draft_texts(requests, limits_.context_tokens);
    std::vector<Stream> streams;
    const auto reader = std::make_shared<Bell>();
    {
        const std::scoped_lock lock(bell_->mutex);
        if (closed_)
            return *closed_;
        const ClientId client = requests.empty() ? 0 : requests.front().client;
        if (!has_room(client, requests.size())) {
            return Error{ErrorKind::busy,
                         fmt::format("{} requests are waiting already", inbox_.size() + stats_.waiting),
                         "try again when some have finished"};
        }
        requests_ += requests.size();
        requests_of_[client] += requests.size();
        const RequestId caller = next_id_;
        for (Request& request : requests) {
            Channels channels;
            for (uint32_t answer = 0; answer < (request.beams ? request.beams->answers : 1); ++answer) {
                streams.emplace_back(
                    channels.emplace_back(std::make_shared<Channel>(request.unread_max, bell_, reader)));
            }
            inbox_.push_back({next_id_++, caller, std::move(request), std::move(channels), Clock::now()});
        }
    }
    bell_->changed.notify_one();
    return streams;
}

/// Whether `requests` more requests may wait. Precondition: the bell's mutex is held.
bool Engine::Loop::has_room(ClientId client, std::size_t requests) const {
    const std::size_t most = std::size_t{queue_max_} + limits_.sequences_max;
    if (requests_ + requests <= most)
        return true;
    const auto own = requests_of_.find(client);
    const std::size_t together = requests + (own == requests_of_.end() ? 0 : own->second);
    return together <= std::min<std::size_t>(requests_of_light_client, queue_max_) &&
           requests_ + requests <= most + queue_max_;
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
}

Status Engine::Loop::work() {
    scheduler_.use(workers_);
    while (take_submissions())
        ETNA_CHECK(step());
    while (!tickets_.empty()) // the device finishes its steps before its memory is freed
        ETNA_CHECK(read_outputs());
    return {};
}

/// Moves the inbox into the scheduler; sleeps while there is nothing to do. Returns false if the engine is
/// stopping.
bool Engine::Loop::take_submissions() {
    std::vector<Submission> taken;
    {
        std::unique_lock lock(bell_->mutex);
        const bool is_idle = waits_for_bell_ || (scheduler_.is_idle() && tickets_.empty());
        stats_ = load_of(scheduler_);
        bell_->changed.wait(lock,
                            [&] { return !is_idle || is_stopping_ || !inbox_.empty() || bell_->is_rung; });
        bell_->is_rung = false;
        if (is_stopping_)
            return false;
        stats_.waiting += static_cast<uint32_t>(inbox_.size());
        taken.swap(inbox_);
    }
    for (Submission& submission : taken) {
        open_.emplace(submission.id,
                      Open{.client = submission.request.client, .channels = std::move(submission.channels)});
        scheduler_.add(submission.id, std::move(submission.request), submission.submitted, submission.caller);
    }
    return true;
}

/// Starts a batch if the executor can take one; waits for the oldest if it is full, or if nothing can start.
Status Engine::Loop::step() {
    workers_.begin_step();
    follow_readers();
    waits_for_bell_ = false;
    if (tickets_.size() < limits_.in_flight_max) {
        ETNA_TRY(const bool started, submit_batch());
        if (started && tickets_.size() < limits_.in_flight_max)
            return {};
    }
    return tickets_.empty() ? Status() : read_outputs();
}

void Engine::Loop::draft() {
    const std::vector<DraftWish> wishes = scheduler_.draft();
    if (wishes.empty() || draft_model_ == nullptr)
        return;
    const Clock::time_point start = Clock::now();
    auto drafts = draft_model_->draft(wishes);
    if (!drafts)
        return lose_draft_model(drafts.error());
    uint32_t tokens = 0;
    bool is_measure = true; // with a prompt among them, the time is not that of drafts
    for (std::size_t i = 0; i < wishes.size(); ++i) {
        tokens += static_cast<uint32_t>((*drafts)[i].tokens.size());
        is_measure = is_measure && wishes[i].is_caught_up && (*drafts)[i].is_caught_up;
    }
    if (is_measure)
        draft_meter_.note_drafts(tokens, milliseconds_since(start));
    scheduler_.take_drafts(wishes, std::move(drafts).value());
}

/// A draft model that fails is dropped: the answers do not depend on it.
void Engine::Loop::lose_draft_model(const Error& error) {
    log(LogLevel::warning,
        fmt::format("the draft model failed, and drafts no more until the model is loaded again: {}",
                    error.message));
    scheduler_.forget_draft_model();
    draft_model_.reset();
}

/// Returns whether a batch was submitted.
Result<bool> Engine::Loop::submit_batch() {
    draft();
    const Batch& batch = scheduler_.schedule(updates_, Clock::now());
    const bool is_stuck = batch.rows.empty() && updates_.empty() && tickets_.empty() && !scheduler_.is_idle();
    deliver();
    waits_for_bell_ = is_stuck && (scheduler_.holds_any() || scheduler_.waits_for_constraints());
    if (is_stuck && !waits_for_bell_)
        return Error{ErrorKind::internal, "requests are waiting, and none can run"};
#if ETNA_CHECKS
    ETNA_CHECK(scheduler_.verify());
#endif
    if (batch.rows.empty())
        return false;
    ETNA_TRY(const Ticket ticket, executor_->submit(batch));
    tickets_.push_back(unread_of(batch, ticket));
    scheduler_.prepare_constraints();
    const std::scoped_lock lock(bell_->mutex);
    stats_ = load_of(scheduler_);
    return true;
}

Engine::Loop::Unread Engine::Loop::unread_of(const Batch& batch, Ticket ticket) {
    Unread unread = {
        .ticket = ticket, .rows = static_cast<uint32_t>(batch.rows.size()), .submitted = Clock::now()};
    for (const Row& row : batch.rows)
        unread.prefill_rows += row.kind == RowKind::prefill ? 1 : 0;
    if (unread.prefill_rows == 0)
        unread.drafts = unread.rows - static_cast<uint32_t>(batch.sequences.size());
    return unread;
}

EngineStats Engine::Loop::load() {
    const std::scoped_lock lock(bell_->mutex);
    EngineStats load = stats_;
    load.waiting += static_cast<uint32_t>(inbox_.size());
    return load;
}

bool Engine::Loop::has_failed() {
    const std::scoped_lock lock(bell_->mutex);
    return closed_.has_value();
}

Status Engine::Loop::read_outputs() {
    const Unread unread = tickets_.front();
    tickets_.pop_front();
    ETNA_TRY(const Outputs outputs, executor_->wait(unread.ticket));
    // A batch starts when it is submitted, or when the previous one is done.
    const double step_ms = milliseconds_since(std::max(unread.submitted, read_));
    read_ = Clock::now();
    if (unread.prefill_rows > 0) {
        prefill_budget_.note_step(unread.prefill_rows, unread.rows, step_ms);
        scheduler_.set_prefill_rows_max(prefill_budget_.rows());
    } else {
        prefill_budget_.note_decode(step_ms);
        draft_meter_.note_step(unread.drafts, step_ms);
        scheduler_.set_costs(draft_meter_.costs());
    }
    Status status = scheduler_.publish(outputs, updates_, Clock::now());
    deliver();
    return status;
}

/// Cancels the requests that all readers have cancelled, and holds those with a slow reader.
void Engine::Loop::follow_readers() {
    for (const auto& [id, request] : open_) {
        const Channels& channels = request.channels;
        if (std::all_of(channels.begin(), channels.end(),
                        [](const auto& one) { return one->is_cancelled(); })) {
            scheduler_.cancel(id, updates_, Clock::now());
        } else {
            if (!channels.front()->has_begun() && scheduler_.has_begun(id))
                channels.front()->set_begun();
            scheduler_.set_pace(id, channels.front()->is_full() ? Pace::hold : Pace::go_on);
        }
    }
    deliver();
}

void Engine::Loop::deliver() {
    if (updates_.empty())
        return;
    note_ends();
    for (Update& update : updates_) {
        const auto found = open_.find(update.request);
        if (found == open_.end())
            continue; // delivered already, before an earlier call ran out of memory
        Channel& channel = *found->second.channels[update.answer];
        if (auto* token = std::get_if<TokenEvent>(&update.event)) {
            channel.push(std::move(*token));
            continue;
        }
        channel.finish(std::get<Finished>(std::move(update.event)));
        if (update.answer + 1 == found->second.channels.size()) // the answers of a request end in order
            open_.erase(found);
    }
    updates_.clear();
}

/// Updates the counts before any reader can see an end and submit again.
void Engine::Loop::note_ends() {
    const std::scoped_lock lock(bell_->mutex);
    stats_ = load_of(scheduler_);
    for (const Update& update : updates_) {
        const auto found = open_.find(update.request);
        if (!std::holds_alternative<Finished>(update.event) || found == open_.end() ||
            std::exchange(found->second.has_ended, true))
            continue;
        --requests_;
        if (--requests_of_.at(found->second.client) == 0)
            requests_of_.erase(found->second.client);
    }
}

/// Ends every request, accepted or still in the inbox, and refuses new ones.
void Engine::Loop::close(FinishReason reason, const std::optional<Error>& error) {
    scheduler_.end_all(reason, error, updates_, Clock::now());
    deliver();
    const std::scoped_lock lock(bell_->mutex);
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

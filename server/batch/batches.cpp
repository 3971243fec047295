#include "server/batch/batches.hpp"

#include "core/base/log.hpp"
#include "server/api/answer_services.hpp"
#include "server/api/owner.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace etna::server::batch {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds watch_interval{
    100};                             ///< at which running batches notice the time and the server's state
constexpr int64_t retry_after_s = 30; ///< delay before a batch is retried after a failure of disk or model

int64_t system_time_s() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

ApiError no_room_for_batch() {
    return {.status = 429,
            .message =
                "the files and batches of this server take all the room that they may; delete files, or "
                "wait until batches have finished",
            .type = "rate_limit_exceeded",
            .code = "storage_full",
            .retry_after_s = retry_after_s};
}

ApiError batches_failed(const Error& error) {
    log(LogLevel::warning, error.message);
    return {.status = 500,
            .message = "the batch could not be stored: " + strip_directories(error.message),
            .type = "server_error",
            .code = "store_failed"};
}

} // namespace

Batches::Batches(std::filesystem::path folder, const Options& options, Files::Clock clock,
                 std::unique_ptr<Files> files)
    : options_(options), clock_(std::move(clock)), files_(std::move(files)),
      folders_(std::move(folder), *files_) {}

Result<std::unique_ptr<Batches>> Batches::open(const std::filesystem::path& folder, const Options& options,
                                               Files::Clock clock) {
    if (!clock)
        clock = system_time_s;
    std::error_code failure;
    std::filesystem::create_directories(folder / "batches", failure);
    if (failure)
        return Error{ErrorKind::io, fmt::format("cannot make {}: {}", folder.string(), failure.message())};
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, failure);
    ETNA_TRY(auto files, Files::open(folder / "files", options.limits, clock));
    std::unique_ptr<Batches> batches(new Batches(folder / "batches", options, clock, std::move(files)));
    ETNA_TRY(const auto stored, batches->folders_.read());
    for (const SharedBatch& batch : stored)
        batches->batches_.emplace(batch->id, batch);
    batches->files_->set_end_batch(
        [self = batches.get()](const storage::Owner& owner) { return self->end_for_room(owner); });
    return batches;
}

Batches::~Batches() {
    is_ending_ = true;
    changed_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
}

Status Batches::set_status(Batch& batch, std::string_view status) {
    const int64_t now_s = clock_();
    const std::scoped_lock lock(mutex_);
    return write_status(batch, status, now_s);
}

/// Sets a status and its time. The batch is unchanged if it cannot be written. The mutex is held.
Status Batches::write_status(Batch& batch, std::string_view status, int64_t now_s) {
    const Json before = batch.object;
    batch.set_status(status, now_s);
    Status saved = folders_.save(batch);
    if (saved) {
        batch.is_finished = is_final(status);
    } else {
        batch.object = before;
    }
    return saved;
}

/// Whether the owner may have one more unfinished batch. The mutex is held.
bool Batches::may_create(const storage::Owner& owner) const {
    OwnerShares unfinished(options_.limits.batches_max);
    for (const auto& [id, batch] : batches_)
        unfinished.add(batch->owner, batch->is_finished ? 0 : 1);
    return options_.limits.batches_max > 0 &&
           (unfinished.has_room(1) || unfinished.is_within_share(owner, 1));
}

ApiResult<Json> Batches::create(const NewBatch& request) {
    const std::scoped_lock lock(mutex_);
    if (!may_create(request.input.owner)) {
        return ApiError{.status = 429,
                        .message = fmt::format("{} batches are not finished; this server accepts no more of "
                                               "a client with its share of them",
                                               options_.limits.batches_max),
                        .type = "rate_limit_exceeded",
                        .code = "too_many_batches",
                        .retry_after_s = retry_after_s};
    }
    const SharedBatch batch = new_batch(request, clock_());
    const uint64_t state_bytes = BatchFolders::state_bytes_of(*batch);
    make_place_for_state(batch->owner, state_bytes);
    if (folders_.states_bytes() + state_bytes > options_.limits.files_bytes_max / states_divisor)
        return no_room_for_batch();
    if (const Status created = folders_.create(*batch, request.input.id); !created) {
        return created.error().kind == ErrorKind::busy ? no_room_for_batch()
                                                       : batches_failed(created.error());
    }
    batches_.emplace(batch->id, batch);
    changed_.notify_all();
    return batch->object;
}

/// Removes finished batches until another one of the maker has a place, and its state as many bytes, if
/// possible: those of owners beyond their share if the maker is within its own, else those of the maker. The
/// mutex is held.
void Batches::make_place_for_state(const storage::Owner& maker, uint64_t bytes) {
    while (true) {
        OwnerShares counts(options_.limits.finished_batches_max);
        OwnerShares states(options_.limits.files_bytes_max / states_divisor);
        for (const auto& [id, batch] : batches_) {
            counts.add(batch->owner, batch->is_finished ? 1 : 0);
            states.add(batch->owner, batch->state_bytes);
        }
        const bool has_place = counts.has_room(1) && states.has_room(bytes);
        if (has_place || !(counts.has_room(1) ? remove_finished_for(maker, states, bytes)
                                              : remove_finished_for(maker, counts, 1)))
            return;
    }
}

/// Removes the oldest finished batch of the first owner that has one, of those that lose to the maker.
/// Returns false if there is none. The mutex is held.
bool Batches::remove_finished_for(const storage::Owner& maker, const OwnerShares& shares, uint64_t amount) {
    std::vector<storage::Owner> losers;
    if (shares.is_within_share(maker, amount))
        losers = shares.beyond_share(maker);
    losers.push_back(maker);
    for (const storage::Owner& loser : losers) {
        SharedBatch oldest;
        for (const auto& [id, batch] : batches_) {
            const bool is_removable = batch->owner == loser && batch->is_finished && batch->running == 0;
            if (is_removable && (oldest == nullptr || is_older(*batch, *oldest)))
                oldest = batch;
        }
        if (oldest != nullptr) {
            folders_.remove(*oldest);
            batches_.erase(oldest->id);
            return true;
        }
    }
    return false;
}

/// Ends the newest unfinished batch of the owner, so that others have room, unless one is ending already.
/// Returns whether one is ending.
bool Batches::end_for_room(const storage::Owner& owner) {
    const std::scoped_lock lock(mutex_);
    SharedBatch newest;
    for (const auto& [id, batch] : batches_) {
        if (batch->owner != owner || (batch->is_finished && batch->running == 0))
            continue;
        if (batch->is_out_of_room) // also while its work is removed
            return true;
        if (batch->is_finished)
            continue;
        if (newest == nullptr || is_older(*newest, *batch))
            newest = batch;
    }
    if (newest == nullptr)
        return false;
    newest->is_out_of_room = true;
    changed_.notify_all();
    return true;
}

/// Null if the owner has no such batch. The mutex is held.
SharedBatch Batches::owned(const storage::Owner& owner, const std::string& id) {
    const auto found = batches_.find(id);
    return found != batches_.end() && found->second->owner == owner ? found->second : nullptr;
}

std::optional<Json> Batches::find(const storage::Owner& owner, const std::string& id) {
    const std::scoped_lock lock(mutex_);
    const SharedBatch batch = owned(owner, id);
    return batch == nullptr ? std::nullopt : std::optional(batch->object);
}

std::vector<Json> Batches::list(const storage::Owner& owner) {
    const std::scoped_lock lock(mutex_);
    std::vector<SharedBatch> own;
    for (const auto& [id, batch] : batches_) {
        if (batch->owner == owner)
            own.push_back(batch);
    }
    std::ranges::sort(own, [](const SharedBatch& a, const SharedBatch& b) { return is_older(*a, *b); });
    std::vector<Json> objects;
    for (const SharedBatch& batch : own)
        objects.push_back(batch->object);
    return objects;
}

ApiResult<Json> Batches::cancel(const storage::Owner& owner, const std::string& id) {
    const int64_t now_s = clock_();
    const std::scoped_lock lock(mutex_);
    const SharedBatch batch = owned(owner, id);
    if (batch == nullptr) {
        return ApiError{.status = 404,
                        .message = fmt::format("there is no batch `{}`", id),
                        .param = "batch_id",
                        .code = "batch_not_found"};
    }
    const std::string status = batch->status();
    if (status == "cancelling")
        return batch->object;
    if (batch->is_finished || status == "finalizing") {
        return ApiError{.status = 409,
                        .message = fmt::format("the batch `{}` is {}, and cannot be cancelled", id, status),
                        .code = "batch_not_cancellable"};
    }
    batch->is_cancelled = true; // even if the change cannot be written
    if (const Status saved = write_status(*batch, "cancelling", now_s); !saved)
        return batches_failed(saved.error());
    changed_.notify_all();
    return batch->object;
}

void Batches::start(const AnswerServices& services, AnswerRequest answer) {
    services_ = &services;
    answer_ = std::move(answer);
    const std::scoped_lock lock(mutex_);
    threads_.emplace_back([this] { watch(); });
    ++working_;
    const uint32_t lines = std::clamp<uint32_t>(options_.lines_at_once, 1, lines_at_once_max);
    for (uint32_t number = 0; number < lines + reserved_threads; ++number) {
        const Share share = number < lines ? Share::any : Share::idle_owners;
        try {
            threads_.emplace_back([this, share] { work(share); });
        } catch (const std::system_error& failure) { // fewer threads do the work
            log(LogLevel::warning, fmt::format("only {} threads run batches: {}", number, failure.what()));
            break;
        }
        ++working_;
    }
}

bool Batches::wait(milliseconds limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::max(limit, milliseconds(0)), [&] { return working_ == 0; });
}

bool Batches::is_stopping() const {
    return is_ending_ || services_->is_aborting || services_->state == ServiceState::draining;
}

/// Returns the request head for a batch's lines, with its owner's key or its client's address. Empty if the
/// key was removed from the server.
std::optional<HttpRequest> Batches::head_for(const Batch& batch) const {
    auto head = request_of_owner(services_->options.access, batch.owner, batch.client);
    if (head)
        head->priority = line_priority;
    return head;
}

bool Batches::has_expired(const Batch& batch) const {
    return batch.expires_s() <= clock_();
}

/// Whether a batch that is not open can be opened.
bool Batches::is_runnable(const Batch& batch) const {
    return batch.retry_at_s <= clock_() && (has_expired(batch) || head_for(batch).has_value());
}

/// How a running batch is to stop. The mutex is held.
StopMode Batches::stop_mode_of(const Batch& batch) const {
    if (is_ending_ || services_->is_aborting || batch.is_cancelled || batch.is_out_of_room ||
        has_expired(batch))
        return StopMode::abandon;
    return is_stopping() ? StopMode::finish : StopMode::none;
}

/// Returns the step that a thread can do next; empty: none.
std::optional<BatchStep> Batches::next_step(const Batch& batch, const OwnerLoad& load) const {
    if (batch.is_exclusive)
        return std::nullopt;
    if (!batch.is_open()) {
        const bool may_open = load.open < batches_at_once || batch.is_out_of_room;
        return may_open && is_runnable(batch) ? std::optional(BatchStep::open) : std::nullopt;
    }
    const bool has_lines = !batch.is_drained && stop_mode_of(batch) == StopMode::none;
    if (has_lines)
        return BatchStep::line;
    return batch.running == 0 ? std::optional(BatchStep::close) : std::nullopt;
}

/// The mutex is held.
std::optional<BatchTask> Batches::next_task(Share share) const {
    return queue_.next(batches_, [&](const Batch& batch, const OwnerLoad& load) {
        return share == Share::idle_owners && load.running > 0 ? std::nullopt : next_step(batch, load);
    });
}

/// Returns a step towards the end of a batch that is out of room. The mutex is held.
std::optional<BatchTask> Batches::next_ending() const {
    for (const auto& [id, batch] : batches_) {
        if (batch->is_finished || !batch->is_out_of_room)
            continue;
        if (const auto step = next_step(*batch, {}))
            return BatchTask{batch, *step};
    }
    return std::nullopt;
}

/// Waits for a step and claims it. Empty when the server stops.
std::optional<BatchTask> Batches::take(Share share) {
    std::unique_lock lock(mutex_);
    while (!is_stopping()) {
        if (auto task = next_task(share)) {
            queue_.claim(*task);
            return task;
        }
        changed_.wait(lock);
    }
    return std::nullopt;
}

/// The thread function: does steps of batches until the server stops.
void Batches::work(Share share) {
    while (const auto task = take(share))
        run(*task);
    const std::scoped_lock lock(mutex_);
    --working_;
    changed_.notify_all();
}

/// Tells the running batches whether to stop. The mutex is held.
void Batches::stop_runners() {
    for (const auto& [id, batch] : batches_) {
        if (batch->runner == nullptr || batch->is_exclusive)
            continue;
        batch->runner->stop(stop_mode_of(*batch));
        batch->set_progress();
    }
}

/// The function of one more thread: tells running batches whether to stop, and idle threads what they do not
/// notice. Ends batches that are out of room, because all other threads may wait for that room.
void Batches::watch() {
    std::unique_lock lock(mutex_);
    while (!is_stopping()) {
        stop_runners();
        if (const auto ending = next_ending()) {
            queue_.claim(*ending);
            lock.unlock();
            run(*ending);
            lock.lock();
            continue;
        }
        if (next_task(Share::any))
            changed_.notify_all();
        changed_.wait_for(lock, watch_interval);
    }
    changed_.notify_all();
    while (working_ > 1) { // until the lines in progress have ended
        stop_runners();
        changed_.wait_for(lock, watch_interval);
    }
    --working_;
    changed_.notify_all();
}

/// Does a step of a batch.
void Batches::run(const BatchTask& task) {
    Batch& batch = *task.batch;
    Status status;
    bool has_more = true;
    try {
        if (task.step == BatchStep::open) {
            status = open_batch(batch);
        } else if (task.step == BatchStep::line) {
            has_more = batch.runner->answer_line();
        } else {
            status = close_batch(batch);
        }
    } catch (const std::exception& failure) { // memory ran out
        status = Error{ErrorKind::out_of_memory, failure.what()};
    }
    if (!status) {
        log(LogLevel::warning, fmt::format("batch {}: {}; trying again in {} s", batch.id,
                                           status.error().message, retry_after_s));
    }
    const std::scoped_lock lock(mutex_);
    --batch.running;
    batch.is_drained = batch.is_drained || !has_more;
    if (task.step != BatchStep::line) {
        batch.is_exclusive = false;
        batch.retry_at_s = status ? 0 : clock_() + retry_after_s;
    }
    if (task.step != BatchStep::line || !has_more)
        changed_.notify_all();
}

/// Starts to answer a batch, or finishes one whose outputs are complete. Errors: io and others; the batch can
/// be retried.
Status Batches::open_batch(Batch& batch) {
    std::string ending;
    std::string status;
    {
        const std::scoped_lock lock(mutex_);
        status = batch.status();
        ending = batch.ending;
    }
    if (status == "finalizing") // its outputs are complete
        return finish(batch, ending);
    if (status == "validating")
        ETNA_CHECK(begin(batch));
    {
        const std::scoped_lock lock(mutex_);
        if (batch.is_finished)
            return {};
    }
    return start_lines(batch);
}

/// Counts the lines and starts the batch, or fails it if its input is invalid.
Status Batches::begin(Batch& batch) {
    const auto summary = summarize_input(folders_.input_of(batch), {});
    if (!summary && summary.error().kind == ErrorKind::io)
        return summary.error(); // the next try may be able to read it
    if (!summary)
        return fail(batch, "invalid_input_file", strip_directories(summary.error().message));
    if (summary->lines == 0)
        return fail(batch, "empty_file", "the input file has no lines");
    const int64_t now_s = clock_();
    const std::scoped_lock lock(mutex_); // a cancel() comes before or after
    batch.object["request_counts"]["total"] = summary->lines;
    return batch.is_cancelled ? Status() : write_status(batch, "in_progress", now_s);
}

/// The mutex is held.
Job Batches::job_of(const Batch& batch) const {
    return {.input = folders_.input_of(batch),
            .endpoint = batch.endpoint(),
            .line_bytes_max = options_.line_bytes_max,
            .request = head_for(batch).value_or(HttpRequest())};
}

/// Opens the input and the outputs.
Status Batches::start_lines(Batch& batch) {
    ETNA_TRY(auto results, folders_.open_outputs(batch));
    std::unique_ptr<Runner> runner;
    Job job;
    bool has_lines = false;
    {
        const std::scoped_lock lock(mutex_);
        job = job_of(batch);
        has_lines = !batch.is_cancelled && !batch.is_out_of_room && !has_expired(batch);
    }
    if (has_lines) {
        runner = std::make_unique<Runner>(std::move(job), *results, answer_);
        ETNA_CHECK(runner->open());
    }
    const std::scoped_lock lock(mutex_);
    batch.results = std::move(results);
    batch.runner = std::move(runner);
    batch.is_drained = !has_lines;
    batch.set_progress();
    return {};
}

/// Ends the run of a batch, and finishes the batch unless the server stops.
Status Batches::close_batch(Batch& batch) {
    const auto ending = ending_of(batch);
    {
        const std::scoped_lock lock(mutex_);
        batch.set_progress();
        batch.runner = nullptr;
        batch.results = nullptr;
    }
    ETNA_CHECK(ending);
    return ending->empty() ? Status() : finish(batch, *ending);
}

/// Returns the status to end with; empty if the server stops.
Result<std::string> Batches::ending_of(Batch& batch) {
    const auto end = batch.runner == nullptr ? Result<Ending>(Ending::incomplete) : batch.runner->close();
    if (end && *end == Ending::complete)
        return std::string("completed");
    if (batch.is_out_of_room) {
        const std::scoped_lock lock(mutex_);
        batch.set_error(
            "storage_full",
            "the files and batches of this server take all the room that they may, and the rest of this "
            "batch's outputs has none; the outputs so far are stored");
        return std::string("failed");
    }
    ETNA_CHECK(end);
    if (batch.is_cancelled)
        return std::string("cancelled");
    {
        const std::scoped_lock lock(mutex_);
        if (!has_expired(batch))
            return std::string();
    }
    ETNA_CHECK(expire(batch));
    return std::string("expired");
}

/// Records an error for each line without a record. Without room for them, the rest gets none.
Status Batches::expire(Batch& batch) {
    Job rest;
    {
        const std::scoped_lock lock(mutex_);
        rest = job_of(batch);
        batch.runner = nullptr;
        batch.results = nullptr; // closed, so that the log opened next contains the records of this run
    }
    ETNA_TRY(auto results, folders_.open_outputs(batch));
    rest.verdict = LineError{.code = "batch_expired",
                             .message = "this request could not be answered before the batch expired"};
    Runner runner(std::move(rest), *results, [](const HttpRequest&) { return HttpReply{}; });
    const auto ending = runner.run([] { return StopMode::none; });
    const std::scoped_lock lock(mutex_);
    batch.results = std::move(results);
    if (ending || batch.is_out_of_room)
        return {};
    return ending.error();
}

/// Stores the outputs as files and ends the batch. Can be repeated after a kill.
Status Batches::finish(Batch& batch, const std::string& ending) {
    {
        const std::scoped_lock lock(mutex_);
        batch.ending = ending;
    }
    ETNA_CHECK(set_status(batch, "finalizing"));
    const int64_t now_s = clock_();
    for (const Output output : {Output::results, Output::errors}) {
        ETNA_TRY(const std::string id, folders_.store_output(batch, output, now_s));
        const std::scoped_lock lock(mutex_);
        if (!id.empty())
            batch.object[output == Output::results ? "output_file_id" : "error_file_id"] = id;
    }
    ETNA_CHECK(set_status(batch, ending));
    folders_.remove_work(batch);
    return {};
}

/// Ends a batch that cannot be run.
Status Batches::fail(Batch& batch, std::string_view code, const std::string& message) {
    {
        const std::scoped_lock lock(mutex_);
        batch.set_error(code, message);
    }
    ETNA_CHECK(set_status(batch, "failed"));
    folders_.remove_work(batch);
    return {};
}

api::FindStoredFile finder_of(Files& files) {
    return [&files](const storage::Owner& owner, const std::string& id) -> std::optional<api::StoredContent> {
        auto found = files.find(owner, id);
        if (!found)
            return std::nullopt;
        return api::StoredContent{
            .name = std::move(found->name), .bytes = found->bytes, .path = files.path_of(id)};
    };
}

} // namespace etna::server::batch

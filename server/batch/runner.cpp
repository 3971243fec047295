#include "server/batch/runner.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server::batch {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds stop_poll{100};
constexpr milliseconds first_pause{250}; ///< delay before the first retry; doubled for each further one
constexpr milliseconds longest_pause{2'000};
constexpr std::size_t bodies_bytes_max = 1024UL * 1024 * 1024; ///< memory of all running lines

/// Maximum consecutive lines that may fail because of the server: a model that cannot be loaded, or a lost
/// device, must not turn all lines into errors.
constexpr uint32_t server_failures_max = 16;

constexpr int answered = 200;
constexpr int queue_is_full = 429;
constexpr int first_server_error = 500;

} // namespace

Runner::Runner(Job job, ResultLog& log, AnswerRequest answer)
    : job_(std::move(job)), log_(&log), answer_(std::move(answer)),
      memory_(std::make_shared<MemoryBudget>(bodies_bytes_max)) {}

Status Runner::open() {
    ETNA_TRY(reader_, LineReader::open(job_.input, job_.line_bytes_max));
    return {};
}

Result<Ending> Runner::run(const std::function<StopMode()>& stop_mode) {
    ETNA_CHECK(open());
    std::vector<std::thread> threads;
    working_ = std::clamp<uint32_t>(job_.lines_at_once, 1, lines_at_once_max);
    for (uint32_t left = working_; left > 0; --left) {
        try {
            threads.emplace_back([this] { work(); });
        } catch (const std::system_error&) { // fewer threads do the work
            const std::scoped_lock lock(mutex_);
            working_ -= left;
            break;
        }
    }
    if (threads.empty())
        return Error{ErrorKind::out_of_memory, "the system has no free thread"};
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, stop_poll, [&] { return working_ == 0; })) {
        lock.unlock();
        stop(stop_mode());
        lock.lock();
    }
    lock.unlock();
    for (std::thread& thread : threads)
        thread.join();
    return close();
}

void Runner::stop(StopMode mode) {
    StopMode before = stop_mode_;
    while (mode > before && !stop_mode_.compare_exchange_weak(before, mode)) {
    }
}

Result<Ending> Runner::close() {
    if (failure_)
        return *failure_;
    if (is_at_end_ && stop_mode_ == StopMode::none)
        ETNA_CHECK(record_held_failures());
    is_incomplete_ = is_incomplete_ || !held_failures_.empty();
    ETNA_CHECK(log_->sync());
    return is_at_end_ && !is_incomplete_ ? Ending::complete : Ending::incomplete;
}

Progress Runner::progress() const {
    return {.results = results_,
            .errors = errors_,
            .prompt_tokens = prompt_tokens_,
            .completion_tokens = completion_tokens_};
}

bool Runner::answer_line() {
    Status status;
    try {
        const auto pending = take();
        if (pending && !*pending)
            return false;
        status = pending ? settle(**pending) : Status(pending.error());
    } catch (const std::exception& failure) { // memory ran out
        status = Error{ErrorKind::out_of_memory, failure.what()};
    }
    if (!status)
        stop(status.error());
    return status.has_value();
}

/// The thread function: processes lines until the run ends.
void Runner::work() {
    while (answer_line()) {
    }
    const std::scoped_lock lock(mutex_);
    --working_;
    ended_.notify_all();
}

/// Returns the next line of the shard without a record; empty at the end of the input.
Result<std::optional<Runner::Pending>> Runner::take() {
    const std::scoped_lock lock(reader_mutex_);
    while (stop_mode_ == StopMode::none) {
        ETNA_TRY(auto line, reader_->next());
        if (!line) {
            is_at_end_ = true;
            break;
        }
        auto custom_id = custom_id_of(line->text);
        const bool is_duplicate = custom_id && !seen_ids_.insert(*custom_id).second;
        const bool is_done =
            log_->has_error(line->number) || (custom_id && !is_duplicate && log_->has_result(*custom_id));
        if (job_.shard.has(line->number) && !is_done) {
            return std::optional(Pending{
                .line = std::move(*line), .custom_id = std::move(custom_id), .is_duplicate = is_duplicate});
        }
    }
    return std::optional<Pending>();
}

/// Answers a line and records it. Error: io.
Status Runner::settle(const Pending& pending) {
    auto line = read_line(pending.line, job_.endpoint);
    if (!line)
        return fail(pending, line.error(), nullptr);
    if (pending.is_duplicate) {
        return fail(pending,
                    {.code = "duplicate_custom_id", .message = "custom_id: an earlier line has the same"},
                    nullptr);
    }
    if (job_.verdict)
        return fail(pending, *job_.verdict, nullptr);
    const auto answer = ask(line->url, std::move(line->body));
    if (!answer) {
        is_incomplete_ = true;
        return {};
    }
    if (answer->status >= first_server_error)
        return hold_failure(pending, *answer);
    ETNA_CHECK(record_held_failures());
    if (answer->status != answered)
        return fail(pending, error_of_answer(*answer), &*answer);
    ETNA_CHECK(log_->append(Output::results, result_record(line->custom_id, *answer)));
    ++results_;
    return {};
}

/// Holds back the record of a line that failed because of the server until another line succeeds: if the
/// server is broken, the next run answers these lines instead. Error: internal (too many in a row).
Status Runner::hold_failure(const Pending& pending, const LineAnswer& answer) {
    const LineError error = error_of_answer(answer);
    const std::scoped_lock lock(mutex_);
    if (held_failures_.size() >= server_failures_max) {
        return Error{ErrorKind::internal,
                     fmt::format("{} lines in a row failed by no fault of theirs, the last with: {}",
                                 server_failures_max, error.message),
                     "remove the cause, and run the same command again"};
    }
    held_failures_.push_back(error_record(pending.line.number, pending.custom_id, error, &answer));
    return {};
}

Status Runner::record_held_failures() {
    std::vector<std::string> records;
    {
        const std::scoped_lock lock(mutex_);
        records.swap(held_failures_);
    }
    for (const std::string& record : records) {
        ETNA_CHECK(log_->append(Output::errors, record));
        ++errors_;
    }
    return {};
}

Status Runner::fail(const Pending& pending, const LineError& error, const LineAnswer* answer) {
    ETNA_CHECK(
        log_->append(Output::errors, error_record(pending.line.number, pending.custom_id, error, answer)));
    ++errors_;
    return {};
}

/// Sends a line's request, with retries. Empty if the run ends first.
std::optional<LineAnswer> Runner::ask(const std::string& url, Json body) {
    const auto shared_body = std::make_shared<const Json>(std::move(body));
    uint32_t failures = 0;
    for (milliseconds time = first_pause;; time = std::min(2 * time, longest_pause)) {
        HttpReply reply = ask_once(url, shared_body);
        // When a run is abandoned, truncated answers look complete.
        if (stop_mode_ == StopMode::abandon || reply.status == client_closed_status)
            return std::nullopt;
        // A server that is shutting down refuses requests.
        if (stop_mode_ != StopMode::none &&
            (reply.status >= first_server_error || reply.status == queue_is_full))
            return std::nullopt;
        const bool has_failed = reply.status >= first_server_error;
        if (has_failed || reply.status == queue_is_full)
            pause(time); // longer than `stop_mode` takes to report the shutdown
        if (has_failed && stop_mode_ != StopMode::none)
            return std::nullopt;
        if (reply.status != queue_is_full && (!has_failed || failures++ >= job_.retries)) {
            prompt_tokens_ += reply.log.prompt_tokens.value_or(0);
            completion_tokens_ += reply.log.completion_tokens.value_or(0);
            const auto id = reply.headers.find("x-request-id");
            return LineAnswer{.status = reply.status,
                              .request_id = id == reply.headers.end() ? std::string() : id->second,
                              .body = std::move(reply.body)};
        }
        if (stop_mode_ != StopMode::none)
            return std::nullopt;
    }
}

HttpReply Runner::ask_once(const std::string& url, const std::shared_ptr<const Json>& body) {
    HttpRequest request = job_.request;
    request.method = "POST";
    request.path = url;
    request.parsed_body = body;
    request.is_client_gone = [this] { return stop_mode_ == StopMode::abandon; };
    auto memory = std::make_shared<MemoryReservation>(memory_);
    if (!memory->grow_by(json_memory_bytes(*body)))
        return {.status = queue_is_full};
    request.memory = std::move(memory);
    try {
        HttpReply reply = answer_(request);
        if (!reply.stream)
            return reply;
    } catch (const std::exception&) { // out of memory for the answer
        return {.status = first_server_error};
    }
    return {.status = first_server_error}; // not reached: streams are refused when a line is parsed
}

/// Sleeps; wakes early if the run ends.
void Runner::pause(milliseconds time) {
    for (; time > milliseconds(0) && stop_mode_ == StopMode::none; time -= stop_poll)
        std::this_thread::sleep_for(std::min(time, stop_poll));
}

/// Ends the run with an error.
void Runner::stop(const Error& error) {
    const std::scoped_lock lock(mutex_);
    if (!failure_)
        failure_ = error;
    stop_mode_ = StopMode::abandon;
}

} // namespace etna::server::batch

#pragma once

#include "core/base/result.hpp"
#include "server/batch/input.hpp"
#include "server/batch/line.hpp"
#include "server/batch/result_log.hpp"
#include "server/batch/shard.hpp"
#include "server/http/http.hpp"
#include "server/http/memory_budget.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace etna::server::batch {

/// Answers a request without a socket: Router::answer().
using AnswerRequest = std::function<HttpReply(const HttpRequest& request)>;

/// Maximum lines that a runner answers at once, each on its own thread.
constexpr uint32_t lines_at_once_max = 512;

/// Lines at once that keep an engine of `sequences` sequences full: while some are read and recorded, enough
/// others wait in the engine's queue.
constexpr uint32_t lines_at_once_for(uint32_t sequences) {
    const uint32_t lines = sequences + sequences / 4 + 2;
    return lines < lines_at_once_max ? lines : lines_at_once_max;
}

/// A batch to run.
struct Job {
    std::filesystem::path input = {};
    Shard shard = {};
    std::string endpoint = {}; ///< the only URL of its lines; empty: all of endpoint_urls
    std::size_t line_bytes_max = default_line_bytes_max;
    uint32_t lines_at_once = 1;
    uint32_t retries = 2;                  ///< after a failure of the server: status 500 and above
    HttpRequest request = {};              ///< the head of every request: key and address of the client
    std::optional<LineError> verdict = {}; ///< the error of every line; empty: they are answered
};

/// How far a runner may go.
enum class Pace : uint8_t {
    full,
    finish,  ///< no new line is begun
    abandon, ///< running lines are stopped, and left for the next run
};

struct Progress {
    uint64_t results = 0; ///< lines answered by this run
    uint64_t errors = 0;  ///< lines that failed in this run
    uint64_t prompt_tokens = 0;
    uint64_t completion_tokens = 0;
};

/// The outcome of Runner::run() without an error.
enum class Ending : uint8_t {
    complete,   ///< every line of the shard has a record
    incomplete, ///< it was stopped
};

/// Answers the lines of a batch's shard that have no record yet, many at once, and records each answer or
/// error. progress() is thread-safe.
class Runner {
public:
    /// Borrows `log`. `answer` is called on many threads.
    Runner(Job job, ResultLog& log, AnswerRequest answer);

    /// Runs until every line has a record, or `pace` ends it; polls `pace` ten times a second on this thread.
    /// Blocks. Errors: io (the input cannot be read, an output cannot be written): what was recorded stays.
    Result<Ending> run(const std::function<Pace()>& pace);

    [[nodiscard]] Progress progress() const;

private:
    /// A line that needs a record.
    struct Pending {
        InputLine line;
        std::optional<std::string> custom_id; ///< empty: unknown
        bool is_duplicate = false;            ///< an earlier line has its custom_id
    };

    void work(LineReader& reader);
    Result<std::optional<Pending>> take(LineReader& reader);
    Status settle(const Pending& pending);
    Status hold_failure(const Pending& pending, const LineAnswer& answer);
    Status record_held_failures();
    Status fail(const Pending& pending, const LineError& error, const LineAnswer* answer);
    std::optional<LineAnswer> ask(const LineRequest& line);
    HttpReply ask_once(const LineRequest& line);
    void pause(std::chrono::milliseconds time);
    void stop(const Error& error);

    const Job job_;
    ResultLog* log_; ///< borrowed
    const AnswerRequest answer_;
    std::shared_ptr<MemoryBudget> memory_;
    std::atomic<Pace> pace_{Pace::full};
    std::atomic<bool> is_incomplete_{false}; ///< a line was begun and has no record
    std::atomic<uint64_t> results_{0}, errors_{0}, prompt_tokens_{0}, completion_tokens_{0};

    std::mutex reader_mutex_;                  ///< of the reader, and of the next two
    std::unordered_set<std::string> seen_ids_; ///< of the lines read so far, whatever their shard
    bool is_at_end_ = false;                   ///< of the input

    std::mutex mutex_; ///< of what follows
    std::optional<Error> failure_;
    std::vector<std::string> held_failures_; ///< records of lines in a row that failed by the server's fault
    uint32_t working_ = 0;                   ///< threads
    std::condition_variable ended_;
};

} // namespace etna::server::batch

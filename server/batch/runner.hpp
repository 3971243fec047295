#pragma once

#include "core/base/result.hpp"
#include "server/api/reply.hpp"
#include "server/base/memory_budget.hpp"
#include "server/batch/input.hpp"
#include "server/batch/line.hpp"
#include "server/batch/result_log.hpp"
#include "server/batch/shard.hpp"

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

/// Maximum concurrent lines of a runner; each has its own thread.
constexpr uint32_t lines_at_once_max = 512;

/// Returns the number of concurrent lines that saturates an engine of `sequences` sequences: while some lines
/// are being read or recorded, enough others wait in the engine's queue.
constexpr uint32_t lines_at_once_for(uint32_t sequences) {
    const uint32_t lines = sequences + sequences / 4 + 2;
    return lines < lines_at_once_max ? lines : lines_at_once_max;
}

/// A batch to run.
struct Job {
    std::filesystem::path input = {};
    Shard shard = {};
    std::string endpoint = {}; ///< the only accepted URL; empty: all of endpoint_urls
    std::size_t line_bytes_max = default_line_bytes_max;
    uint32_t lines_at_once = 1;
    uint32_t retries = 2;                  ///< retries per line after a status of 500 or above
    HttpRequest request = {};              ///< head of every request: the client's key and address
    std::optional<LineError> verdict = {}; ///< an error to record for every line; empty: lines are answered
};

/// How a run ends before its lines do.
enum class StopMode : uint8_t {
    none,    ///< it does not
    finish,  ///< running lines finish; no new ones start
    abandon, ///< running lines are cancelled and left to the next run
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
    incomplete, ///< the run was stopped
};

/// Answers the lines of a shard that have no record yet, many concurrently, and records each answer or error:
/// on its own threads with run(), or on those of the caller with open(), answer_line() and close().
class Runner {
public:
    /// Borrows `log`. `answer` is called on many threads.
    Runner(Job job, ResultLog& log, AnswerRequest answer);

    /// Runs until every line has a record or `stop_mode` stops the run; polls it ten times a second on this
    /// thread. Blocks. Errors: io (the input cannot be read, or an output cannot be written), those of the
    /// log's quota; records already written remain.
    Result<Ending> run(const std::function<StopMode()>& stop_mode);

    /// Opens the input. Errors: io.
    Status open();
    /// Answers and records the next line. Returns false if no line is left, or the run ends before them.
    /// Blocks. Thread-safe.
    bool answer_line();
    /// Ends the run. Precondition: no answer_line() is in progress. Errors: as run().
    Result<Ending> close();
    /// Stops the run, for good. Thread-safe.
    void stop(StopMode mode);

    /// Thread-safe.
    [[nodiscard]] Progress progress() const;

private:
    /// A line that needs a record.
    struct Pending {
        InputLine line;
        std::optional<std::string> custom_id; ///< empty: unknown
        bool is_duplicate = false;            ///< an earlier line has its custom_id
    };

    void work();
    Result<std::optional<Pending>> take();
    Status settle(const Pending& pending);
    Status hold_failure(const Pending& pending, const LineAnswer& answer);
    Status record_held_failures();
    Status fail(const Pending& pending, const LineError& error, const LineAnswer* answer);
    std::optional<LineAnswer> ask(const std::string& url, Json body);
    HttpReply ask_once(const std::string& url, const std::shared_ptr<const Json>& body);
    void pause(std::chrono::milliseconds time);
    void stop(const Error& error);

    const Job job_;
    ResultLog* log_; ///< borrowed
    const AnswerRequest answer_;
    std::shared_ptr<MemoryBudget> memory_;
    std::atomic<StopMode> stop_mode_{StopMode::none};
    std::atomic<bool> is_incomplete_{false}; ///< a line was started but got no record
    std::atomic<uint64_t> results_{0}, errors_{0}, prompt_tokens_{0}, completion_tokens_{0};

    std::mutex reader_mutex_;                  ///< guards the next three members
    std::optional<LineReader> reader_;         ///< empty before open()
    std::unordered_set<std::string> seen_ids_; ///< custom_ids of all lines read, in any shard
    bool is_at_end_ = false;                   ///< the reader has reached the end of the input

    std::mutex mutex_; ///< guards the members below
    std::optional<Error> failure_;
    std::vector<std::string> held_failures_; ///< records of consecutive lines that the server failed
    uint32_t working_ = 0;                   ///< number of threads that have not ended
    std::condition_variable ended_;
};

} // namespace etna::server::batch

#pragma once

#include "core/base/result.hpp"
#include "server/api/file_texts.hpp"
#include "server/base/api_error.hpp"
#include "server/base/json.hpp"
#include "server/batch/batch.hpp"
#include "server/batch/batch_folders.hpp"
#include "server/batch/batch_queue.hpp"
#include "server/batch/files.hpp"
#include "server/batch/runner.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace etna::server {
struct AnswerServices;
}

namespace etna::server::batch {

/// Maximum number of batches of an owner that run concurrently; the others wait.
constexpr std::size_t batches_at_once = 4;

/// Maximum part of StoreLimits::files_bytes_max that the states of batches take.
constexpr uint64_t states_divisor = 4;

/// Threads for owners without a line in progress: they do not wait for the long lines of others, and the
/// engine is fair among clients.
constexpr uint32_t reserved_threads = 16;

/// Added to the priority of each line: a client's interactive requests come first.
constexpr int32_t line_priority = 1 << 30;

/// The batches of clients, and the threads that run them. Only its owner can find a batch. Every change is
/// durable on return. After a kill, unfinished batches resume, and each line still gets exactly one record.
/// The lines of all batches share one queue: the next one is that of the owner with the fewest running, and
/// among its batches, of the one with the fewest. Thread-safe. Blocks.
class Batches {
public:
    struct Options {
        StoreLimits limits = {};
        std::size_t line_bytes_max = default_line_bytes_max;
        uint32_t lines_at_once = 1; ///< concurrent lines of all running batches
    };

    /// Opens the folder of batches and files, which no other process may use. Errors: io.
    static Result<std::unique_ptr<Batches>> open(const std::filesystem::path& folder, const Options& options,
                                                 Files::Clock clock = {});

    Batches(const Batches&) = delete;
    Batches& operator=(const Batches&) = delete;
    /// Stops the running lines and joins the threads.
    ~Batches();

    /// Starts running batches; stops when the service drains. Borrows `service`, which must outlive this
    /// object. Call once.
    void start(const AnswerServices& services, AnswerRequest answer);

    /// Blocks until all threads have ended after the service drains, at most for `limit`. Returns false if
    /// some still run.
    bool wait(std::chrono::milliseconds limit);

    [[nodiscard]] Files& files() { return *files_; }
    [[nodiscard]] const Options& options() const { return options_; }

    /// Returns the new batch's object. Errors: 429 (too many unfinished ones, no room on the disk), 500.
    ApiResult<Json> create(const NewBatch& request);
    /// Empty if the owner has no such batch.
    std::optional<Json> find(const storage::Owner& owner, const std::string& id);
    /// Oldest first.
    std::vector<Json> list(const storage::Owner& owner);
    /// Errors: 404, 409 (the batch has finished), 500.
    ApiResult<Json> cancel(const storage::Owner& owner, const std::string& id);

private:
    /// The tasks that a thread takes.
    enum class Share : uint8_t {
        any,
        idle_owners, ///< those of owners with no step in progress
    };

    Batches(std::filesystem::path folder, const Options& options, Files::Clock clock,
            std::unique_ptr<Files> files);
    Status set_status(Batch& batch, std::string_view status);
    Status write_status(Batch& batch, std::string_view status, int64_t now_s);
    void make_place_for_state(const storage::Owner& maker, uint64_t bytes);
    bool remove_finished_for(const storage::Owner& maker, const OwnerShares& shares, uint64_t amount);
    bool end_for_room(const storage::Owner& owner);
    [[nodiscard]] bool may_create(const storage::Owner& owner) const;
    SharedBatch owned(const storage::Owner& owner, const std::string& id);

    [[nodiscard]] bool is_stopping() const;
    [[nodiscard]] std::optional<HttpRequest> head_for(const Batch& batch) const;
    [[nodiscard]] bool is_runnable(const Batch& batch) const;
    [[nodiscard]] bool has_expired(const Batch& batch) const;
    [[nodiscard]] StopMode stop_mode_of(const Batch& batch) const;
    [[nodiscard]] std::optional<BatchStep> next_step(const Batch& batch, const OwnerLoad& load) const;
    [[nodiscard]] std::optional<BatchTask> next_task(Share share) const;
    [[nodiscard]] std::optional<BatchTask> next_ending() const;
    std::optional<BatchTask> take(Share share);
    void work(Share share);
    void stop_runners();
    void watch();
    void run(const BatchTask& task);
    Status open_batch(Batch& batch);
    Status begin(Batch& batch);
    Status start_lines(Batch& batch);
    Status close_batch(Batch& batch);
    Result<std::string> ending_of(Batch& batch);
    Status expire(Batch& batch);
    [[nodiscard]] Job job_of(const Batch& batch) const;
    Status finish(Batch& batch, const std::string& ending);
    Status fail(Batch& batch, std::string_view code, const std::string& message);

    const Options options_;
    const Files::Clock clock_;
    const std::unique_ptr<Files> files_;
    BatchFolders folders_;
    const AnswerServices* services_ = nullptr; ///< borrowed; null before start()
    AnswerRequest answer_;
    std::atomic<bool> is_ending_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
    BatchQueue::Batches batches_; ///< by id
    BatchQueue queue_;
    std::size_t working_ = 0; ///< number of threads that have not ended
    std::vector<std::thread> threads_;
};

/// Finds the files for the messages that name them. Borrows `files`.
api::FindStoredFile finder_of(Files& files);

} // namespace etna::server::batch

#pragma once

#include "core/base/result.hpp"
#include "server/api_error.hpp"
#include "server/batch/files.hpp"
#include "server/batch/runner.hpp"
#include "server/json.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace etna::server {
struct Service;
}

namespace etna::server::batch {

/// Time limit of a batch: the only completion_window that is accepted.
constexpr int64_t completion_window_s = 24 * 3600;

/// Maximum number of concurrent batches. They share `lines_at_once` fairly.
constexpr std::size_t batches_at_once = 4;

/// Maximum number of finished batches; the oldest are removed.
constexpr std::size_t finished_batches_max = 1'000;

/// Added to the priority of each line: a client's interactive requests come first.
constexpr int32_t line_priority = 1 << 30;

/// A batch that a client creates.
struct NewBatch {
    StoredFile input = {};
    std::string endpoint = {};
    Json metadata = {};
    int64_t output_lifetime_s = default_file_lifetime_s;
    HttpRequest client = {}; ///< only the client's address is used
};

/// The batches of clients, and the threads that run them. Only its owner can find a batch. Every change is
/// durable on return. After a kill, unfinished batches resume, and each line still gets exactly one record.
/// Thread-safe. Blocks.
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
    void start(const Service& service, AnswerRequest answer);

    /// Blocks until all threads have ended after the service drains, at most for `limit`. Returns false if
    /// some still run.
    bool wait(std::chrono::milliseconds limit);

    [[nodiscard]] Files& files() { return *files_; }
    [[nodiscard]] const Options& options() const { return options_; }

    /// Returns the new batch's object. Errors: 429 (too many unfinished ones), 500.
    ApiResult<Json> create(const NewBatch& made);
    /// Empty if the owner has no such batch.
    std::optional<Json> find(const storage::Owner& owner, const std::string& id);
    /// Oldest first.
    std::vector<Json> list(const storage::Owner& owner);
    /// Errors: 404, 409 (the batch has finished), 500.
    ApiResult<Json> cancel(const storage::Owner& owner, const std::string& id);

private:
    /// A batch. The mutex guards every member except the atomic.
    struct Entry {
        std::string id = {};
        storage::Owner owner = {};
        Json object = {}; ///< as returned to clients
        HttpRequest client = {};
        std::string output_file_id = {}, error_file_id = {}; ///< once they exist
        std::string ending = {};                             ///< its status after finalizing
        int64_t output_lifetime_s = default_file_lifetime_s;
        bool is_taken = false; ///< a thread is running this batch
        int64_t retry_at_s = 0;
        std::atomic<bool> is_cancelled{false};

        [[nodiscard]] std::string status() const;
    };
    using Shared = std::shared_ptr<Entry>;

    Batches(std::filesystem::path folder, const Options& options, Files::Clock clock);
    Status read();
    Status read_batch(const std::filesystem::path& folder);
    Status save(const Entry& entry);
    Status set_status(Entry& entry, std::string_view status);
    Status write_status(Entry& entry, std::string_view status, int64_t now_s);
    void remove_oldest_finished();
    Shared owned(const storage::Owner& owner, const std::string& id);

    [[nodiscard]] bool is_stopping() const;
    [[nodiscard]] std::optional<HttpRequest> head_for(const Entry& entry) const;
    [[nodiscard]] bool is_runnable(const Entry& entry) const;
    Shared take();
    void work();
    Status run(Entry& entry);
    Status begin(Entry& entry);
    Result<std::string> settle(Entry& entry);
    Status expire(Entry& entry, ResultLog& log, const Job& job);
    Status finish(Entry& entry, const std::string& ending);
    Status store_output(Entry& entry, Output output);
    void remove_work(const Entry& entry);
    Status fail(Entry& entry, std::string_view code, const std::string& message);
    void count(Entry& entry, const ResultLog& log);
    HttpReply answer(const HttpRequest& request);
    [[nodiscard]] std::filesystem::path folder_of(const Entry& entry) const { return folder_ / entry.id; }

    const std::filesystem::path folder_; ///< of the batches
    const Options options_;
    const Files::Clock clock_;
    std::unique_ptr<Files> files_;
    const Service* service_ = nullptr; ///< borrowed; null before start()
    AnswerRequest answer_;
    std::counting_semaphore<lines_at_once_max> free_lines_;
    std::atomic<bool> is_ending_{false};
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, Shared> entries_; ///< by id
    std::size_t working_ = 0;               ///< number of threads that have not ended
    std::vector<std::thread> threads_;
};

} // namespace etna::server::batch

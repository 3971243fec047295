#pragma once

#include "core/base/result.hpp"
#include "server/batch/line.hpp"
#include "server/batch/shard.hpp"
#include "server/storage/store_file.hpp"

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

namespace etna::server::batch {

/// The two outputs of a shard.
enum class Output : uint8_t {
    results, ///< responses of status 200, keyed by custom_id
    errors,  ///< failed lines, keyed by line number
};

/// Returns the path of results-3-of-16.jsonl or errors-3-of-16.jsonl in the folder.
std::filesystem::path output_path(const std::filesystem::path& folder, Output output, const Shard& shard);

/// Facts about all records of a log together.
struct RecordTotals {
    TokenUsage usage = {};
    std::string model = {};          ///< that answered first; empty: no answer names one
    bool has_several_models = false; ///< another one answered, too
};

/// The durable log of a shard: two append-only files of lines, so that a process killed at any byte can
/// resume. Each record is written by a single call; it survives a kill of the process at once, and a power
/// loss after `sync_delay`. Nothing is memory-mapped, so that the folder may be on a network file system.
/// Thread-safe.
class ResultLog {
public:
    static constexpr std::chrono::milliseconds default_sync_delay{1000};

    /// Opens or creates the folder and its files, and reads their records. A torn record at the end is
    /// truncated; a file damaged elsewhere is renamed to FILE.damaged-N and its intact records are copied to
    /// a new file. Both add an entry to `warnings`. Blocks. Errors: io (also if another process has the shard
    /// open).
    static Result<std::unique_ptr<ResultLog>> open(const std::filesystem::path& folder, const Shard& shard,
                                                   std::vector<std::string>& warnings,
                                                   std::chrono::milliseconds sync_delay = default_sync_delay);

    ResultLog(const ResultLog&) = delete;
    ResultLog& operator=(const ResultLog&) = delete;
    /// Syncs.
    ~ResultLog();

    /// Whether the files had a record of the line when they were opened; records added by append() do not
    /// count.
    [[nodiscard]] bool has_result(const std::string& custom_id) const { return results_.contains(custom_id); }
    [[nodiscard]] bool has_error(uint64_t line) const { return errors_.contains(line); }

    /// Permits appends: called before each one with its bytes; an error refuses it. Call before append().
    using Quota = std::function<Status(Output output, uint64_t bytes)>;
    void set_quota(Quota quota) { quota_ = std::move(quota); }

    /// Appends a record: one line, with its line end. After a failed write or sync, all later calls fail, and
    /// the file ends with a complete record. Blocks. Errors: io, those of the quota.
    Status append(Output output, std::string_view record);

    /// Flushes all records to the disk. Blocks. Error: io.
    Status sync();

    /// Number of records in the file.
    [[nodiscard]] uint64_t records(Output output) const;

    /// Of the records in both files, those of earlier runs included.
    [[nodiscard]] RecordTotals totals() const;

private:
    /// An open file.
    struct File {
        std::filesystem::path path = {};
        int descriptor = -1;
        uint64_t bytes = 0;
        uint64_t records = 0;
        bool is_dirty = false; ///< has unsynced records
    };

    explicit ResultLog(std::chrono::milliseconds sync_delay) : sync_delay_(sync_delay) {}
    Status read(Output output, std::vector<std::string>& warnings);
    void add(Output output, const RecordSummary& record);
    void count(const RecordSummary& record);
    [[nodiscard]] File& file(Output output) { return files_[static_cast<std::size_t>(output)]; }
    void sync_periodically();

    const std::chrono::milliseconds sync_delay_;
    Quota quota_ = [](Output, uint64_t) { return Status(); };
    storage::FileLock lock_;
    std::array<File, 2> files_;
    std::unordered_set<std::string> results_;
    std::unordered_set<uint64_t> errors_;
    mutable std::mutex mutex_; ///< guards the files and the members up to the next mutex
    RecordTotals totals_;
    std::optional<Error> failure_;
    bool is_ending_ = false;
    std::condition_variable changed_;
    std::mutex sync_mutex_; ///< serializes syncs
    std::thread syncer_;
};

} // namespace etna::server::batch

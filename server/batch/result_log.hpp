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
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

namespace etna::server::batch {

/// The two outputs of a shard.
enum class Output : uint8_t {
    results, ///< answers of status 200, identified by their custom_id
    errors,  ///< lines that failed, identified by their number
};

/// results-3-of-16.jsonl or errors-3-of-16.jsonl of the folder.
std::filesystem::path output_path(const std::filesystem::path& folder, Output output, const Shard& shard);

/// The durable record of a shard: two files of lines that only grow, so that a process killed at any byte
/// continues where it was. Each record is written by one call, survives a kill of the process at once, and a
/// loss of power after `sync_delay`. Nothing is mapped, so that the folder may be on a network. Thread-safe.
class ResultLog {
public:
    static constexpr std::chrono::milliseconds default_sync_delay{1000};

    /// Opens the files, or creates them with their folder, and reads their records. A torn record at the end
    /// is cut off; a file damaged elsewhere is renamed to FILE.damaged-N, and its intact records are kept,
    /// both with an entry in `warnings`. Blocks. Errors: io (also if another process has the shard open).
    static Result<std::unique_ptr<ResultLog>> open(const std::filesystem::path& folder, const Shard& shard,
                                                   std::vector<std::string>& warnings,
                                                   std::chrono::milliseconds sync_delay = default_sync_delay);

    ResultLog(const ResultLog&) = delete;
    ResultLog& operator=(const ResultLog&) = delete;
    /// Syncs.
    ~ResultLog();

    /// Whether the files have a record of the line. Constant during a run: records that append() adds do not
    /// count.
    [[nodiscard]] bool has_result(const std::string& custom_id) const { return results_.contains(custom_id); }
    [[nodiscard]] bool has_error(uint64_t line) const { return errors_.contains(line); }

    /// Appends a record, one line with its end. After a failure, of the disk or of a sync, all later calls
    /// fail; the file ends with a complete record. Blocks. Error: io.
    Status append(Output output, std::string_view record);

    /// Returns when all records are on the disk. Blocks. Error: io.
    Status sync();

    /// Records in the file.
    [[nodiscard]] uint64_t records(Output output) const;

private:
    /// An open file.
    struct File {
        std::filesystem::path path = {};
        int descriptor = -1;
        uint64_t bytes = 0;
        uint64_t records = 0;
        bool is_dirty = false; ///< has records that are not synced
    };

    explicit ResultLog(std::chrono::milliseconds sync_delay) : sync_delay_(sync_delay) {}
    Status read(Output output, std::vector<std::string>& warnings);
    void add(Output output, const RecordKey& key);
    [[nodiscard]] File& file(Output output) { return files_[static_cast<std::size_t>(output)]; }
    void sync_periodically();

    const std::chrono::milliseconds sync_delay_;
    storage::FileLock lock_;
    std::array<File, 2> files_;
    std::unordered_set<std::string> results_;
    std::unordered_set<uint64_t> errors_;
    mutable std::mutex mutex_; ///< of what follows, and of the files
    std::optional<Error> failure_;
    bool is_ending_ = false;
    std::condition_variable changed_;
    std::mutex sync_mutex_; ///< one sync at a time
    std::thread syncer_;
};

} // namespace etna::server::batch

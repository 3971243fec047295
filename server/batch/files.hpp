#pragma once

#include "core/base/result.hpp"
#include "server/json.hpp"
#include "server/storage/store.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::server::batch {

/// Limits on the files and batches of clients.
struct StoreLimits {
    uint64_t files_bytes_max = uint64_t{4} << 30U; ///< total size of all files; uploads beyond it are refused
    std::size_t file_bytes_max = 200UL << 20U;     ///< size of one upload
    uint32_t batches_max = 64;                     ///< unfinished batches; further ones are refused
};

/// Maximum number of files; their descriptions are in memory.
constexpr std::size_t files_max = 10'000;

/// Default lifetime of a file.
constexpr int64_t default_file_lifetime_s = 30 * 24 * 3600;

/// The description of a file.
struct StoredFile {
    std::string id = {};
    storage::Owner owner = {};
    std::string name = {};
    std::string purpose = {};
    uint64_t bytes = 0;
    int64_t created_s = 0; ///< since 1970
    int64_t expires_s = 0;
};

/// A file that a client uploads.
struct NewFile {
    storage::Owner owner = {};
    std::string name = {};
    std::string purpose = {};
    int64_t lifetime_s = default_file_lifetime_s;
};

/// Returns OpenAI's file object.
Json file_json(const StoredFile& file);

/// The files of clients, in a folder that no other process may use. Only its owner can find a file, until it
/// expires. Every change is durable on return. Thread-safe. Blocks.
class Files {
public:
    using Clock = std::function<int64_t()>; ///< seconds since 1970

    /// Creates the folder, and removes the remains of interrupted uploads. Errors: io.
    static Result<std::unique_ptr<Files>> open(const std::filesystem::path& folder, const StoreLimits& limits,
                                               Clock clock);

    /// Stores a file. Errors: busy (no room by the limits), io.
    Result<StoredFile> add(const NewFile& made, std::string_view content);

    /// Stores the existing file at `path` under `file.id`, regardless of the limits; `path` remains. Can be
    /// repeated. Errors: io.
    Result<StoredFile> adopt(StoredFile file, const std::filesystem::path& path);

    /// Empty if the owner has no such file.
    std::optional<StoredFile> find(const storage::Owner& owner, const std::string& id);
    /// Oldest first.
    std::vector<StoredFile> list(const storage::Owner& owner);
    /// Returns whether it existed.
    Result<bool> remove(const storage::Owner& owner, const std::string& id);

    /// Path of the file's content, to read or to link.
    [[nodiscard]] std::filesystem::path path_of(const std::string& id) const;

private:
    Files(std::filesystem::path folder, const StoreLimits& limits, Clock clock)
        : folder_(std::move(folder)), limits_(limits), clock_(std::move(clock)) {}
    Status read();
    Status describe(const StoredFile& file);
    void remove_expired();
    void erase(const std::string& id);
    [[nodiscard]] std::filesystem::path note_of(const std::string& id) const;

    const std::filesystem::path folder_;
    const StoreLimits limits_;
    const Clock clock_;
    std::mutex mutex_;
    std::map<std::string, StoredFile> files_; ///< by id
    uint64_t bytes_ = 0;                      ///< total size of all files
    uint64_t arriving_bytes_ = 0;             ///< size of the uploads in progress
};

} // namespace etna::server::batch

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

/// Bounds of what clients store for batches.
struct StoreLimits {
    uint64_t files_bytes_max = uint64_t{4} << 30U; ///< of all files together; uploads beyond it are refused
    std::size_t file_bytes_max = 200UL << 20U;     ///< of an upload
    uint32_t batches_max = 64;                     ///< that are not finished; more are refused
};

/// Files that are kept, at most: their descriptions are in memory.
constexpr std::size_t files_max = 10'000;

/// Lifetime of a file without another.
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

/// OpenAI's object of a file.
Json file_json(const StoredFile& file);

/// The files of clients, in a folder of which no other process knows. A file is found by its owner only,
/// until it expires. Every change is durable on return. Thread-safe. Blocks.
class Files {
public:
    using Clock = std::function<int64_t()>; ///< seconds since 1970

    /// Creates the folder, and removes what an unfinished upload left. Errors: io.
    static Result<std::unique_ptr<Files>> open(const std::filesystem::path& folder, const StoreLimits& limits,
                                               Clock clock);

    /// Stores a file. Errors: busy (no room by the limits), io.
    Result<StoredFile> add(const NewFile& made, std::string_view content);

    /// Stores a file that exists at `path`, under `file.id`, whatever the limits; again, if it was stored
    /// before. Its former name stays. Errors: io.
    Result<StoredFile> adopt(StoredFile file, const std::filesystem::path& path);

    /// Empty if there is none of the owner.
    std::optional<StoredFile> find(const storage::Owner& owner, const std::string& id);
    /// Oldest first.
    std::vector<StoredFile> list(const storage::Owner& owner);
    /// Returns whether it existed.
    Result<bool> remove(const storage::Owner& owner, const std::string& id);

    /// The file's content, to read or to link.
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
    uint64_t bytes_ = 0;                      ///< of all files
    uint64_t arriving_bytes_ = 0;             ///< of uploads that are being written
};

} // namespace etna::server::batch

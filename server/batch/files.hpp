#pragma once

#include "core/base/result.hpp"
#include "server/base/json.hpp"
#include "server/batch/owner_shares.hpp"
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
    uint64_t files_bytes_max = uint64_t{4} << 30U; ///< on the disk, of all files and batches together
    std::size_t file_bytes_max = 200UL << 20U;     ///< size of one upload
    uint32_t batches_max = 64; ///< unfinished batches; further ones of an owner beyond its share are refused
    std::size_t files_max = 10'000;           ///< number of files, whose descriptions are in memory
    std::size_t finished_batches_max = 1'000; ///< further ones replace older ones
};

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
///
/// StoreLimits::files_bytes_max bounds the disk: contents and descriptions of files, the inputs, outputs and
/// states of batches, and contents that were deleted while a batch or a download uses them. If an owner
/// within its share needs room, the oldest unused files of owners beyond theirs are evicted, then those that
/// are being downloaded, and then their unfinished batches are ended. An evicted file is empty for those that
/// still read it, so that its room does not depend on how fast they read.
class Files {
public:
    using Clock = std::function<int64_t()>; ///< seconds since 1970
    using Guard = std::shared_ptr<const void>;
    /// Ends the newest unfinished batch of an owner. Returns whether one is ending.
    using EndBatch = std::function<bool(const storage::Owner& owner)>;

    /// Creates the folder, and removes the remains of interrupted uploads. Errors: io.
    static Result<std::unique_ptr<Files>> open(const std::filesystem::path& folder, const StoreLimits& limits,
                                               Clock clock);

    /// Sets what is called to make room. Call before start of any other thread.
    void set_end_batch(EndBatch end_batch) { end_batch_ = std::move(end_batch); }

    /// Stores a file. Waits some seconds while batches end to make room. Errors: busy (no room by the
    /// limits), io.
    Result<StoredFile> add(const NewFile& request, std::string_view content);

    /// Stores the existing file at `path` under `file.id`; `path` remains. Can be repeated. `charged_bytes`:
    /// those that charge() has counted for it. Errors: io.
    Result<StoredFile> adopt(StoredFile file, const std::filesystem::path& path, uint64_t charged_bytes);

    /// Counts the input of an unfinished batch until release_input(), whatever the limits are. Batches whose
    /// inputs are one file on the disk give the same name, the id of the file.
    void hold_input(const std::string& name, const storage::Owner& owner, uint64_t bytes);
    void release_input(const std::string& name);

    /// Counts bytes that a batch is about to write. charge() waits as add() does, and charge_now() does not.
    /// Errors: busy (no room by the limits).
    Status charge(const storage::Owner& owner, uint64_t bytes);
    Status charge_now(const storage::Owner& owner, uint64_t bytes);
    /// Counts bytes that are on the disk already, whatever the limits are.
    void count_found(const storage::Owner& owner, uint64_t bytes);
    /// Ends the count of the last three.
    void discharge(const storage::Owner& owner, uint64_t bytes);

    /// Counts the content of a file while the guard lives, also if its owner removes the file. Null: there is
    /// no such file.
    Guard read(const storage::Owner& owner, const std::string& id);

    /// Bytes on the disk, by this count.
    [[nodiscard]] uint64_t bytes();

    /// Empty if the owner has no such file.
    std::optional<StoredFile> find(const storage::Owner& owner, const std::string& id);
    /// Oldest first.
    std::vector<StoredFile> list(const storage::Owner& owner);
    /// Returns whether it existed.
    Result<bool> remove(const storage::Owner& owner, const std::string& id);

    /// Path of the file's content, to read or to link.
    [[nodiscard]] std::filesystem::path path_of(const std::string& id) const;

private:
    /// The content of a file, or the input of unfinished batches.
    struct Content {
        storage::Owner owner = {};
        uint64_t bytes = 0;
        bool is_listed = false; ///< is that of a file in `files_`
        uint32_t batches = 0;   ///< unfinished ones that read it
        uint32_t readers = 0;   ///< downloads in progress

        [[nodiscard]] bool is_used() const { return batches > 0 || readers > 0; }
    };

    Files(std::filesystem::path folder, const StoreLimits& limits, Clock clock)
        : folder_(std::move(folder)), limits_(limits), clock_(std::move(clock)),
          bytes_(limits.files_bytes_max), counts_(limits.files_max) {}
    Status read_folder();
    Result<uint64_t> describe(const StoredFile& file);
    void insert(const StoredFile& file, uint64_t description_bytes);
    void remove_expired();
    void erase(const std::string& id);
    void end_use(const std::string& name, uint32_t Content::* users);
    [[nodiscard]] const StoredFile* oldest_file(const storage::Owner& owner,
                                                bool (*is_candidate)(const Content&)) const;
    bool evict(const std::string& id);
    bool evict_removed_file(const storage::Owner& owner);
    bool evict_file_for(const std::vector<storage::Owner>& losers);
    bool make_room(const storage::Owner& owner, uint64_t bytes);
    bool wait_for_room(std::unique_lock<std::mutex>& lock, const storage::Owner& owner, uint64_t bytes);
    [[nodiscard]] std::filesystem::path note_of(const std::string& id) const;

    const std::filesystem::path folder_;
    const StoreLimits limits_;
    const Clock clock_;
    EndBatch end_batch_ = [](const storage::Owner&) { return false; };
    std::mutex mutex_;
    std::map<std::string, StoredFile> files_;           ///< by id
    std::map<std::string, uint64_t> description_bytes_; ///< of files, by id
    std::map<std::string, Content> contents_;           ///< by id of the file, or name of the input
    OwnerShares bytes_;                                 ///< on the disk
    OwnerShares counts_;                                ///< of files
};

} // namespace etna::server::batch

#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/store/manifest.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::store {

enum class Existing : uint8_t { refuse, replace };

/// The manifests of a store, sorted by name, and an error for each that cannot be read.
struct StoredManifests {
    std::vector<Manifest> manifests;
    std::vector<Error> damaged;
};

/// Space freed by a removal; bytes in use by other names are not freed.
struct Removal {
    uint64_t freed_bytes = 0;
    uint64_t shared_bytes = 0;
};

/// Holds the lock that writers of a folder of models take, also in other processes. Readers take none,
/// because files get their names when they are complete.
class StoreLock {
public:
    /// Creates the folder. Blocks while another holds the lock. Errors: io.
    static Result<StoreLock> take(const std::filesystem::path& root);

    StoreLock(StoreLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    StoreLock& operator=(StoreLock&&) = delete;
    StoreLock(const StoreLock&) = delete;
    StoreLock& operator=(const StoreLock&) = delete;
    ~StoreLock();

private:
    explicit StoreLock(int descriptor) : descriptor_(descriptor) {}
    int descriptor_;
};

/// The folder of models: `blobs/sha256-HEX` are bytes, `manifests/NAME.json` give them names and options.
/// Thread-safe, and safe with other processes.
class ModelStore {
public:
    /// The folder need not exist. Empty: there is none, and nothing is found.
    explicit ModelStore(std::filesystem::path root) : root_(std::move(root)) {}

    [[nodiscard]] std::filesystem::path blob_path(std::string_view sha256) const;

    /// The path of a file that is not embedded.
    [[nodiscard]] std::filesystem::path path_of(const StoredFile& file) const;

    /// Reads the manifest of a stored name, or of a remote model in any form that parse_remote_name() takes;
    /// without a quantisation, the one that choose_files() takes of those stored. Errors: not_found, io, and
    /// those of parse_manifest().
    [[nodiscard]] Result<Manifest> find(std::string_view name) const;

    /// Reads all manifests.
    [[nodiscard]] StoredManifests list() const;

    /// Writes a manifest, dated now if it has no date. Removes the blobs of a replaced manifest that nothing
    /// uses. Errors: those of check(); invalid_argument (a name that exists), not_found (a blob is missing),
    /// io.
    [[nodiscard]] Status put(const Manifest& manifest, Existing existing) const;

    /// Checks that put() can write the manifest, apart from its blobs. Errors: invalid_argument (a name that
    /// is too long for a file), corrupt (a member out of its bounds).
    [[nodiscard]] Status check(const Manifest& manifest) const;

    /// Stores bytes, and returns their sha256. Errors: io.
    [[nodiscard]] Result<std::string> add_blob(ByteView bytes) const;

    /// Removes the manifest that find() finds, and its blobs that no other manifest uses. A damaged manifest
    /// can be removed; while there is one, no blob is, because it may use any. Errors: not_found, io.
    [[nodiscard]] Result<Removal> remove(std::string_view name) const;

    /// Records in the time of the manifest's file that the model is used now, if that can be written.
    void note_use(const Manifest& manifest) const;

    /// Seconds since 1970 of the last use, or of the creation; empty without the manifest.
    [[nodiscard]] std::optional<int64_t> last_use_unix_s(const Manifest& manifest) const;

private:
    [[nodiscard]] std::filesystem::path manifest_path(std::string_view name) const;
    [[nodiscard]] Result<Manifest> read(const std::filesystem::path& path) const;
    [[nodiscard]] Result<Manifest> find_of_hub(const HubModel& model) const;
    [[nodiscard]] std::set<std::filesystem::path> blobs_of(const Manifest& manifest) const;
    [[nodiscard]] Result<Removal> remove_unused(const std::set<std::filesystem::path>& blobs) const;

    std::filesystem::path root_;
};

} // namespace etna::store

#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/store/manifest.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
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

/// Space that a removal gave back; bytes in use by other names stay.
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
/// Links of fetched models (pull.hpp) share the blobs. Thread-safe, and safe with other processes.
class ModelStore {
public:
    /// The folder need not exist.
    explicit ModelStore(std::filesystem::path root) : root_(std::move(root)) {}

    [[nodiscard]] const std::filesystem::path& root() const { return root_; }
    [[nodiscard]] std::filesystem::path blob_path(std::string_view sha256) const;

    /// The path of a file that is not embedded.
    [[nodiscard]] std::filesystem::path path_of(const StoredFile& file) const;

    /// Reads a manifest. Errors: not_found, io, and those of parse_manifest().
    [[nodiscard]] Result<Manifest> find(std::string_view name) const;

    /// Reads all manifests.
    [[nodiscard]] StoredManifests list() const;

    /// Writes a manifest. Errors: invalid_argument (a name that exists or is not valid), not_found (a blob is
    /// missing), io.
    [[nodiscard]] Status put(const Manifest& manifest, Existing existing) const;

    /// Stores bytes, and returns their sha256. Errors: io.
    [[nodiscard]] Result<std::string> add_blob(ByteView bytes) const;

    /// Removes a manifest, and its blobs that no other manifest or link uses. A damaged manifest can be
    /// removed; while there is one, no blob is, because it may use any. Errors: not_found, io.
    [[nodiscard]] Result<Removal> remove(std::string_view name) const;

    /// Removes links of fetched models in this folder, the folders that this leaves empty, and their blobs as
    /// remove() does. Errors: io.
    [[nodiscard]] Result<Removal> remove_links(std::span<const std::filesystem::path> links) const;

private:
    [[nodiscard]] std::filesystem::path manifest_path(std::string_view name) const;
    [[nodiscard]] std::set<std::filesystem::path> used_blobs(const std::vector<Manifest>& manifests) const;
    [[nodiscard]] Result<Removal> remove_unused(const std::set<std::filesystem::path>& blobs) const;

    std::filesystem::path root_;
};

/// Calls visit(path) for each link of a fetched model.
void for_each_link(const std::filesystem::path& root,
                   const std::function<void(const std::filesystem::path&)>& visit);

} // namespace etna::store

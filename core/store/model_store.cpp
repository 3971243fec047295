#include "core/store/model_store.hpp"

#include "core/base/file_reader.hpp"
#include "core/base/whole_file.hpp"
#include "core/gguf/cursor.hpp"
#include "core/store/sha256.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

namespace etna::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view manifest_extension = ".json";

Error cannot_write(Error error) {
    if (error.hint.empty())
        error.hint = "make the folder writable, or name another one in ETNA_MODELS";
    return error;
}

Error cannot_remove(const fs::path& path, const std::error_code& failure) {
    return cannot_write(
        {ErrorKind::io, fmt::format("cannot remove {}: {}", path.string(), failure.message())});
}

Result<std::string> read_manifest(const fs::path& path) {
    ETNA_TRY(const FileReader file, FileReader::open(path));
    if (file.bytes() > manifest_bytes_max) {
        return Error{ErrorKind::corrupt, fmt::format("{}: the manifest has {} bytes, more than {}",
                                                     path.string(), file.bytes(), manifest_bytes_max)};
    }
    std::string text(file.bytes(), '\0');
    ETNA_CHECK(file.read(0, std::as_writable_bytes(std::span(text))));
    return text;
}

Error no_such_manifest(std::string_view name) {
    return {ErrorKind::not_found, fmt::format("there is no stored model {}", gguf::backquoted(name)),
            "`etna list` shows the stored models"};
}

/// The path that the link names, without following further links.
fs::path link_target(const fs::path& link) {
    std::error_code failure;
    const fs::path target = fs::read_symlink(link, failure);
    return failure ? fs::path() : (link.parent_path() / target).lexically_normal();
}

/// Removes folders that are empty, from `folder` up to, but without, `root`.
void remove_empty_folders(fs::path folder, const fs::path& root) {
    std::error_code failure;
    while (folder != root && !folder.lexically_relative(root).empty() && fs::remove(folder, failure))
        folder = folder.parent_path();
}

} // namespace

Result<StoreLock> StoreLock::take(const fs::path& root) {
    std::error_code failure;
    fs::create_directories(root, failure);
    if (failure) {
        return cannot_write(
            {ErrorKind::io, fmt::format("cannot make the folder {}: {}", root.string(), failure.message())});
    }
    const fs::path path = root / ".lock";
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (descriptor < 0) {
        return cannot_write(
            {ErrorKind::io, fmt::format("cannot open {}: {}", path.string(), std::strerror(errno))});
    }
    StoreLock lock(descriptor);
    while (::flock(descriptor, LOCK_EX) != 0) {
        if (errno != EINTR)
            return Error{ErrorKind::io,
                         fmt::format("cannot lock {}: {}", path.string(), std::strerror(errno))};
    }
    return lock;
}

StoreLock::~StoreLock() {
    if (descriptor_ >= 0)
        ::close(descriptor_);
}

fs::path ModelStore::blob_path(std::string_view sha256) const {
    return root_ / "blobs" / fmt::format("sha256-{}", sha256);
}

fs::path ModelStore::path_of(const StoredFile& file) const {
    return file.sha256.empty() ? file.path : blob_path(file.sha256);
}

fs::path ModelStore::manifest_path(std::string_view name) const {
    return root_ / "manifests" / fmt::format("{}{}", name, manifest_extension);
}

Result<Manifest> ModelStore::find(std::string_view name) const {
    if (root_.empty() || !check_stored_name(name))
        return no_such_manifest(name);
    const fs::path path = manifest_path(name);
    const auto text = read_manifest(path);
    if (!text)
        return text.error().kind == ErrorKind::not_found ? no_such_manifest(name) : text.error();
    ETNA_TRY(Manifest manifest, parse_manifest(*text, path.string()));
    if (manifest.name != name) {
        return Error{ErrorKind::corrupt,
                     fmt::format("{}: the manifest is of {}", path.string(), gguf::backquoted(manifest.name)),
                     "rename the file, or remove it"};
    }
    return manifest;
}

StoredManifests ModelStore::list() const {
    StoredManifests result;
    std::vector<std::string> names;
    std::error_code failure;
    fs::directory_iterator entry(root_ / "manifests", failure);
    for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
        if (entry->path().extension() == manifest_extension)
            names.push_back(entry->path().stem().string());
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
        if (auto manifest = find(name)) {
            result.manifests.push_back(std::move(*manifest));
        } else if (manifest.error().kind != ErrorKind::not_found) { // not removed meanwhile
            result.damaged.push_back(std::move(manifest).error());
        }
    }
    return result;
}

Status ModelStore::put(const Manifest& manifest, Existing existing) const {
    ETNA_CHECK(check_stored_name(manifest.name));
    ETNA_TRY(const StoreLock lock, StoreLock::take(root_));
    std::error_code failure;
    const fs::path path = manifest_path(manifest.name);
    if (existing == Existing::refuse && fs::exists(path, failure)) {
        return invalid_argument(
            fmt::format("there is a stored model {} already", gguf::backquoted(manifest.name)),
            fmt::format("choose another name, or remove it with `etna rm {}`", manifest.name));
    }
    for (const StoredFile& file : manifest.files) {
        if (!file.sha256.empty() && !fs::is_regular_file(blob_path(file.sha256), failure)) {
            return Error{ErrorKind::not_found,
                         fmt::format("{}: its blob {} is not in the store", manifest.name,
                                     blob_path(file.sha256).string()),
                         "fetch the model again with `etna pull`"};
        }
    }
    const std::string text = manifest_text(manifest);
    ETNA_CHECK(parse_manifest(text, manifest.name)); // what is written can be read
    const std::array parts = {std::as_bytes(std::span(text))};
    const Status written = write_whole_file(path, parts);
    return written ? written : cannot_write(written.error());
}

Result<std::string> ModelStore::add_blob(ByteView bytes) const {
    Sha256 sum;
    sum.add(bytes);
    std::string sha256 = sum.hex();
    const std::array parts = {bytes};
    const Status written = write_whole_file(blob_path(sha256), parts);
    if (!written)
        return cannot_write(written.error());
    return sha256;
}

void for_each_link(const fs::path& root, const std::function<void(const fs::path&)>& visit) {
    for (const char* folder : {"hf.co", "url"}) {
        std::error_code failure;
        fs::recursive_directory_iterator entry(root / folder, failure);
        for (; !failure && entry != fs::recursive_directory_iterator(); entry.increment(failure)) {
            std::error_code ignored;
            if (!entry->is_directory(ignored))
                visit(entry->path());
        }
    }
}

std::set<fs::path> ModelStore::used_blobs(const std::vector<Manifest>& manifests) const {
    std::set<fs::path> used;
    for (const Manifest& manifest : manifests) {
        for (const StoredFile& file : manifest.files) {
            if (!file.sha256.empty())
                used.insert(blob_path(file.sha256).lexically_normal());
        }
    }
    for_each_link(root_, [&](const fs::path& link) { used.insert(link_target(link)); });
    return used;
}

Result<Removal> ModelStore::remove_unused(const std::set<fs::path>& blobs) const {
    const StoredManifests stored = list();
    const std::set<fs::path> used = stored.damaged.empty() ? used_blobs(stored.manifests) : blobs;
    Removal removal;
    for (const fs::path& blob : blobs) {
        std::error_code failure;
        const uint64_t bytes = fs::file_size(blob, failure);
        if (failure)
            continue; // it is gone already
        if (used.contains(blob)) {
            removal.shared_bytes += bytes;
            continue;
        }
        fs::remove(blob, failure);
        if (failure)
            return cannot_remove(blob, failure);
        removal.freed_bytes += bytes;
    }
    return removal;
}

Result<Removal> ModelStore::remove(std::string_view name) const {
    ETNA_CHECK(check_stored_name(name));
    std::error_code failure;
    const fs::path path = manifest_path(name);
    if (!fs::exists(path, failure))
        return no_such_manifest(name);
    ETNA_TRY(const StoreLock lock, StoreLock::take(root_));
    const auto manifest = find(name);
    if (!fs::remove(path, failure))
        return failure ? cannot_remove(path, failure) : no_such_manifest(name);
    std::set<fs::path> blobs;
    if (manifest) {
        for (const StoredFile& file : manifest->files) {
            if (!file.sha256.empty())
                blobs.insert(blob_path(file.sha256).lexically_normal());
        }
    }
    return remove_unused(blobs);
}

Result<Removal> ModelStore::remove_links(std::span<const fs::path> links) const {
    ETNA_TRY(const StoreLock lock, StoreLock::take(root_));
    const fs::path blobs_folder = (root_ / "blobs").lexically_normal();
    std::set<fs::path> blobs;
    Removal removal;
    for (const fs::path& link : links) {
        const fs::path target = link_target(link);
        std::error_code failure;
        if (target.parent_path() == blobs_folder) {
            blobs.insert(target);
        } else if (const uint64_t bytes = fs::file_size(link, failure); target.empty() && !failure) {
            removal.freed_bytes += bytes; // a file that the user put there
        }
        fs::remove(link, failure);
        if (failure)
            return cannot_remove(link, failure);
        remove_empty_folders(link.parent_path(), root_);
    }
    ETNA_TRY(const Removal unused, remove_unused(blobs));
    removal.freed_bytes += unused.freed_bytes;
    removal.shared_bytes += unused.shared_bytes;
    return removal;
}

} // namespace etna::store

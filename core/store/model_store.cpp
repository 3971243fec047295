#include "core/store/model_store.hpp"

#include "core/base/file_reader.hpp"
#include "core/base/whole_file.hpp"
#include "core/gguf/cursor.hpp"
#include "core/store/hub.hpp"
#include "core/store/sha256.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <span>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace etna::store {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view manifest_extension = ".json";
/// Of a manifest's file: the limit of most file systems, less what a temporary name adds.
constexpr std::size_t file_name_bytes_max = 255 - 8;

Error cannot_write(Error error) {
    if (error.hint.empty())
        error.hint = "make the folder writable and its disk large enough, or name another one in ETNA_MODELS";
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

/// Returns the name with all but letters, digits and a few marks percent-encoded, so that it is one part of a
/// path.
std::string file_name_of(std::string_view name) {
    std::string encoded;
    for (const char c : name) {
        const bool is_kept = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             std::string_view("._-:@").find(c) != std::string_view::npos;
        encoded += is_kept ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return encoded;
}

/// "2026-11-26T02:15:00Z".
std::string now_text() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    ::gmtime_r(&now, &utc);
    std::array<char, 32> text{};
    const std::size_t bytes = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return {text.data(), bytes};
}

/// Writes a file that other users may read too.
Status write_shared(const fs::path& path, ByteView bytes) {
    const std::array parts = {bytes};
    if (const Status written = write_whole_file(path, parts); !written)
        return cannot_write(written.error());
    std::error_code ignored;
    fs::permissions(path, fs::perms::group_read | fs::perms::others_read, fs::perm_options::add, ignored);
    return {};
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
    return root_ / "manifests" / fmt::format("{}{}", file_name_of(name), manifest_extension);
}

Result<Manifest> ModelStore::read(const fs::path& path) const {
    ETNA_TRY(const std::string text, read_manifest(path));
    ETNA_TRY(Manifest manifest, parse_manifest(text, path.string()));
    if (manifest_path(manifest.name) != path) {
        return Error{ErrorKind::corrupt,
                     fmt::format("{}: the manifest is of {}", path.string(), gguf::backquoted(manifest.name)),
                     "rename the file, or remove it"};
    }
    return manifest;
}

Result<Manifest> ModelStore::find_of_hub(const HubModel& model) const {
    if (!model.quantisation.empty()) {
        auto exact = read(manifest_path(to_string(model)));
        if (exact || exact.error().kind != ErrorKind::not_found)
            return exact;
    }
    std::vector<Manifest> manifests = list().manifests;
    std::erase_if(manifests, [&](const Manifest& manifest) {
        const auto name = parse_remote_name(manifest.name);
        const auto* stored = name ? std::get_if<HubModel>(&*name) : nullptr;
        return stored == nullptr || stored->user != model.user || stored->repository != model.repository ||
               stored->revision != model.revision;
    });
    std::vector<HubFile> files;
    for (const Manifest& manifest : manifests) {
        for (const StoredFile& file : manifest.files)
            files.push_back({file.file_name, file.bytes, file.sha256});
    }
    const auto chosen = choose_files(model, files);
    const auto found = std::find_if(manifests.begin(), manifests.end(), [&](const Manifest& manifest) {
        return chosen && manifest.files.front().file_name == chosen->parts.front().path;
    });
    if (found == manifests.end())
        return no_such_manifest(to_string(model));
    return std::move(*found);
}

Result<Manifest> ModelStore::find(std::string_view name) const {
    if (root_.empty() || name.empty())
        return no_such_manifest(name);
    if (check_stored_name(name)) {
        auto manifest = read(manifest_path(name));
        if (manifest || manifest.error().kind != ErrorKind::not_found)
            return manifest;
    }
    const auto remote = parse_remote_name(name);
    if (!remote || std::holds_alternative<LocalModel>(*remote))
        return no_such_manifest(name);
    auto manifest = std::holds_alternative<HubModel>(*remote) ? find_of_hub(std::get<HubModel>(*remote))
                                                              : read(manifest_path(stored_name(*remote)));
    if (!manifest && manifest.error().kind == ErrorKind::not_found)
        return no_such_manifest(name);
    return manifest;
}

StoredManifests ModelStore::list() const {
    StoredManifests result;
    std::error_code failure;
    fs::directory_iterator entry(root_ / "manifests", failure);
    for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
        if (entry->path().extension() != manifest_extension)
            continue;
        if (auto manifest = read(entry->path())) {
            result.manifests.push_back(std::move(*manifest));
        } else if (manifest.error().kind != ErrorKind::not_found) { // another process has not removed it
            result.damaged.push_back(std::move(manifest).error());
        }
    }
    std::ranges::sort(result.manifests, {}, &Manifest::name);
    std::ranges::sort(result.damaged, {}, &Error::message);
    return result;
}

Status ModelStore::put(const Manifest& manifest, Existing existing) const {
    Manifest dated = manifest;
    if (dated.created.empty())
        dated.created = now_text();
    ETNA_CHECK(check(dated));
    const std::string text = manifest_text(dated);
    ETNA_TRY(const StoreLock lock, StoreLock::take(root_));
    const fs::path path = manifest_path(manifest.name);
    const auto before = read(path);
    const bool is_there = before || before.error().kind != ErrorKind::not_found;
    if (existing == Existing::refuse && is_there) {
        return invalid_argument(
            fmt::format("there is a stored model {} already", gguf::backquoted(manifest.name)),
            fmt::format("choose another name, or remove it with `etna rm {}`", manifest.name));
    }
    const std::set<fs::path> blobs = blobs_of(manifest);
    for (const fs::path& blob : blobs) {
        std::error_code failure;
        if (!fs::is_regular_file(blob, failure)) {
            return Error{ErrorKind::not_found,
                         fmt::format("{}: its blob {} is not in the store", manifest.name, blob.string()),
                         "run the command again"};
        }
    }
    ETNA_CHECK(write_shared(path, std::as_bytes(std::span(text))));
    if (before)
        ETNA_CHECK(remove_unused(blobs_of(*before)));
    return {};
}

Status ModelStore::check(const Manifest& manifest) const {
    ETNA_CHECK(parse_manifest(manifest_text(manifest), manifest.name)); // it must be readable
    const std::size_t bytes = manifest_path(manifest.name).filename().native().size();
    if (bytes <= file_name_bytes_max)
        return {};
    return invalid_argument(
        fmt::format("{}: as a file's name this has {} bytes, more than {}", gguf::backquoted(manifest.name),
                    bytes, file_name_bytes_max),
        "name the quantisation instead of the file, or download the file, and give its path");
}

Result<std::string> ModelStore::add_blob(ByteView bytes) const {
    Sha256 sum;
    sum.add(bytes);
    std::string sha256 = sum.hex();
    ETNA_CHECK(write_shared(blob_path(sha256), bytes));
    return sha256;
}

std::set<fs::path> ModelStore::blobs_of(const Manifest& manifest) const {
    std::set<fs::path> blobs;
    for (const StoredFile& file : manifest.files) {
        if (!file.sha256.empty())
            blobs.insert(blob_path(file.sha256));
    }
    return blobs;
}

Result<Removal> ModelStore::remove_unused(const std::set<fs::path>& blobs) const {
    const StoredManifests stored = list();
    std::set<fs::path> used;
    for (const Manifest& manifest : stored.manifests)
        used.merge(blobs_of(manifest));
    if (!stored.damaged.empty())
        used = blobs;
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
    if (const auto found = find(name); !found && found.error().kind == ErrorKind::not_found)
        return found.error();
    ETNA_TRY(const StoreLock lock, StoreLock::take(root_));
    const auto manifest = find(name);
    std::error_code failure;
    const fs::path path = manifest_path(manifest ? manifest->name : name);
    if (!fs::remove(path, failure))
        return failure ? cannot_remove(path, failure) : no_such_manifest(name);
    return manifest ? remove_unused(blobs_of(*manifest)) : Removal{};
}

void ModelStore::note_use(const Manifest& manifest) const {
    ::utimensat(AT_FDCWD, manifest_path(manifest.name).c_str(), nullptr, 0);
}

std::optional<int64_t> ModelStore::last_use_unix_s(const Manifest& manifest) const {
    struct stat status{};
    if (::stat(manifest_path(manifest.name).c_str(), &status) != 0)
        return std::nullopt;
    return status.st_mtim.tv_sec;
}

} // namespace etna::store

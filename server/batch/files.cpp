#include "server/batch/files.hpp"

#include "core/base/log.hpp"
#include "server/batch/durable_file.hpp"
#include "server/ids.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace etna::server::batch {
namespace {

constexpr std::string_view content_ending = ".jsonl";
constexpr std::string_view note_ending = ".json";

/// Empty if the file is damaged.
std::optional<StoredFile> read_description(const std::filesystem::path& path) {
    constexpr std::size_t bytes_max = 64 * 1024;
    std::ifstream stream(path, std::ios::binary);
    std::string text(bytes_max, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(stream.gcount()));
    const Json json = parse_json(text);
    if (!json.is_object())
        return std::nullopt;
    StoredFile file;
    const std::pair<const char*, std::string*> texts[] = {
        {"id", &file.id}, {"owner", &file.owner}, {"filename", &file.name}, {"purpose", &file.purpose}};
    for (const auto& [name, value] : texts) {
        const Json found = json.value(name, Json());
        if (!found.is_string())
            return std::nullopt;
        *value = found;
    }
    const std::pair<const char*, int64_t*> times[] = {{"created_at", &file.created_s},
                                                      {"expires_at", &file.expires_s}};
    for (const auto& [name, value] : times) {
        const Json found = json.value(name, Json());
        if (!found.is_number_integer())
            return std::nullopt;
        *value = found;
    }
    return file;
}

} // namespace

Json file_json(const StoredFile& file) {
    return {{"id", file.id},
            {"object", "file"},
            {"bytes", file.bytes},
            {"created_at", file.created_s},
            {"expires_at", file.expires_s},
            {"filename", file.name},
            {"purpose", file.purpose},
            {"status", "processed"}};
}

std::filesystem::path Files::path_of(const std::string& id) const {
    return folder_ / (id + std::string(content_ending));
}

std::filesystem::path Files::note_of(const std::string& id) const {
    return folder_ / (id + std::string(note_ending));
}

Result<std::unique_ptr<Files>> Files::open(const std::filesystem::path& folder, const StoreLimits& limits,
                                           Clock clock) {
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure)
        return Error{ErrorKind::io, fmt::format("cannot make {}: {}", folder.string(), failure.message())};
    (void)::chmod(folder.c_str(), S_IRWXU);
    std::unique_ptr<Files> files(new Files(folder, limits, std::move(clock)));
    ETNA_CHECK(files->read());
    return files;
}

/// Reads the descriptions. Removes contents without a description, and descriptions without content.
Status Files::read() {
    std::error_code failure;
    std::set<std::string> contents;
    std::vector<std::filesystem::path> notes;
    std::filesystem::directory_iterator entries(folder_, failure);
    for (; !failure && entries != std::filesystem::directory_iterator(); entries.increment(failure)) {
        const std::filesystem::path& path = entries->path();
        if (path.extension() == content_ending)
            contents.insert(path.stem().string());
        if (path.extension() == note_ending)
            notes.push_back(path);
        if (path.extension() == ".partial")
            ::unlink(path.c_str());
    }
    if (failure)
        return Error{ErrorKind::io, fmt::format("cannot read {}: {}", folder_.string(), failure.message())};
    for (const std::filesystem::path& note : notes) {
        auto file = read_description(note);
        struct stat info{};
        const bool has_content = contents.erase(note.stem().string()) > 0;
        if (!has_content) { // an interrupted deletion
            ::unlink(note.c_str());
            continue;
        }
        if (!file || file->id != note.stem() || ::stat(path_of(file->id).c_str(), &info) != 0) {
            log(LogLevel::warning,
                fmt::format("{} is damaged, or cannot be read; its file is not found", note.string()));
            continue;
        }
        file->bytes = static_cast<uint64_t>(info.st_size);
        bytes_ += file->bytes;
        files_.emplace(file->id, std::move(*file));
    }
    for (const std::string& id : contents)
        ::unlink(path_of(id).c_str());
    const std::scoped_lock lock(mutex_);
    remove_expired();
    return {};
}

/// Writes a file's description. Precondition: its content is stored.
Status Files::describe(const StoredFile& file) {
    Json json = file_json(file);
    json["owner"] = file.owner;
    return write_durable_file(note_of(file.id), dump_json(json) + "\n");
}

Result<StoredFile> Files::add(const NewFile& made, std::string_view content) {
    {
        const std::scoped_lock lock(mutex_);
        remove_expired();
        if (bytes_ + arriving_bytes_ + content.size() > limits_.files_bytes_max ||
            files_.size() >= files_max) {
            return Error{ErrorKind::busy, "the files of this server take all the room that they may",
                         "delete files that are no longer needed"};
        }
        arriving_bytes_ += content.size();
    }
    const int64_t now_s = clock_();
    const StoredFile file = {.id = new_id("file-"),
                             .owner = made.owner,
                             .name = made.name,
                             .purpose = made.purpose,
                             .bytes = content.size(),
                             .created_s = now_s,
                             .expires_s = now_s + made.lifetime_s};
    Status status = write_durable_file(path_of(file.id), content);
    if (status)
        status = describe(file);
    const std::scoped_lock lock(mutex_);
    arriving_bytes_ -= content.size();
    if (!status) {
        ::unlink(path_of(file.id).c_str());
        return status.error();
    }
    bytes_ += file.bytes;
    files_[file.id] = file;
    return file;
}

Result<StoredFile> Files::adopt(StoredFile file, const std::filesystem::path& path) {
    const std::filesystem::path own = path_of(file.id);
    std::error_code failure;
    if (::link(path.c_str(), own.c_str()) != 0 && errno != EEXIST)
        std::filesystem::copy_file(path, own, std::filesystem::copy_options::overwrite_existing, failure);
    struct stat info{};
    if (failure || ::stat(own.c_str(), &info) != 0) {
        return Error{ErrorKind::io, fmt::format("cannot store {}: {}", own.string(),
                                                failure ? failure.message() : std::strerror(errno))};
    }
    file.bytes = static_cast<uint64_t>(info.st_size);
    ETNA_CHECK(describe(file));
    const std::scoped_lock lock(mutex_);
    if (files_.emplace(file.id, file).second)
        bytes_ += file.bytes;
    return file;
}

std::optional<StoredFile> Files::find(const storage::Owner& owner, const std::string& id) {
    const std::scoped_lock lock(mutex_);
    remove_expired();
    const auto found = files_.find(id);
    return found != files_.end() && found->second.owner == owner ? std::optional(found->second)
                                                                 : std::nullopt;
}

std::vector<StoredFile> Files::list(const storage::Owner& owner) {
    const std::scoped_lock lock(mutex_);
    remove_expired();
    std::vector<StoredFile> files;
    for (const auto& [id, file] : files_) {
        if (file.owner == owner)
            files.push_back(file);
    }
    std::ranges::sort(files, {}, [](const StoredFile& file) { return std::tie(file.created_s, file.id); });
    return files;
}

Result<bool> Files::remove(const storage::Owner& owner, const std::string& id) {
    const std::scoped_lock lock(mutex_);
    const auto found = files_.find(id);
    if (found == files_.end() || found->second.owner != owner)
        return false;
    erase(id);
    return true;
}

/// Removes a file; its description first, so that no description lacks its content.
void Files::erase(const std::string& id) {
    ::unlink(note_of(id).c_str());
    ::unlink(path_of(id).c_str());
    bytes_ -= files_[id].bytes;
    files_.erase(id);
}

void Files::remove_expired() {
    const int64_t now = clock_();
    std::vector<std::string> expired;
    for (const auto& [id, file] : files_) {
        if (file.expires_s <= now)
            expired.push_back(id);
    }
    for (const std::string& id : expired)
        erase(id);
}

} // namespace etna::server::batch

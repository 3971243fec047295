#include "server/batch/files.hpp"

#include "core/base/log.hpp"
#include "server/base/ids.hpp"
#include "server/batch/durable_file.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace etna::server::batch {
namespace {

constexpr std::string_view content_ending = ".jsonl";
constexpr std::string_view note_ending = ".json";
constexpr std::chrono::seconds room_time_max{10}; ///< for batches to end, so that a file has room
constexpr std::chrono::milliseconds room_poll{20};

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

/// Returns the description of a file as it is stored.
std::string description_of(const StoredFile& file) {
    Json json = file_json(file);
    json["owner"] = file.owner;
    return dump_json(json) + "\n";
}

/// 0 if the file cannot be read.
uint64_t bytes_of_file(const std::filesystem::path& path) {
    struct stat info{};
    return ::stat(path.c_str(), &info) == 0 ? static_cast<uint64_t>(info.st_size) : 0;
}

Error no_room() {
    return {ErrorKind::busy, "the files and batches of this server take all the room that they may",
            "delete files that are no longer needed"};
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
    ETNA_CHECK(files->read_folder());
    return files;
}

/// Reads the descriptions. Removes contents without a description, and descriptions without content.
Status Files::read_folder() {
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
    const std::scoped_lock lock(mutex_);
    for (const std::filesystem::path& note : notes) {
        auto file = read_description(note);
        const std::string id = note.stem().string();
        if (contents.erase(id) == 0) { // an interrupted deletion
            ::unlink(note.c_str());
            continue;
        }
        const uint64_t note_bytes = bytes_of_file(note);
        const uint64_t bytes = bytes_of_file(path_of(id));
        if (!file || file->id != id) {
            log(LogLevel::warning,
                fmt::format("{} is damaged, or cannot be read; its file is not found", note.string()));
            bytes_.add({}, note_bytes + bytes);
            continue;
        }
        file->bytes = bytes;
        insert(*file, note_bytes);
    }
    for (const std::string& id : contents)
        ::unlink(path_of(id).c_str());
    remove_expired();
    return {};
}

/// Writes a file's description. Returns its bytes. Precondition: its content is stored.
Result<uint64_t> Files::describe(const StoredFile& file) {
    const std::string text = description_of(file);
    ETNA_CHECK(write_durable_file(note_of(file.id), text));
    return uint64_t{text.size()};
}

/// Lists a stored file. Its bytes are counted here.
void Files::insert(const StoredFile& file, uint64_t description_bytes) {
    files_.emplace(file.id, file);
    description_bytes_[file.id] = description_bytes;
    Content& content = contents_[file.id];
    content.owner = file.owner;
    content.bytes = file.bytes;
    content.is_listed = true;
    bytes_.add(file.owner, file.bytes + description_bytes);
    counts_.add(file.owner, 1);
}

Result<StoredFile> Files::add(const NewFile& request, std::string_view content) {
    const int64_t now_s = clock_();
    const StoredFile file = {.id = new_id("file-"),
                             .owner = request.owner,
                             .name = request.name,
                             .purpose = request.purpose,
                             .bytes = content.size(),
                             .created_s = now_s,
                             .expires_s = now_s + request.lifetime_s};
    const uint64_t bytes = content.size() + description_of(file).size();
    {
        std::unique_lock lock(mutex_);
        remove_expired();
        const bool has_place = wait_for_room(lock, request.owner, bytes) &&
                               (counts_.has_room(1) || (counts_.is_within_share(request.owner, 1) &&
                                                        evict_file_for(counts_.beyond_share(request.owner))));
        if (!has_place)
            return no_room();
        bytes_.add(request.owner, bytes); // while it is written
        counts_.add(request.owner, 1);
    }
    Status status = write_durable_file(path_of(file.id), content);
    Result<uint64_t> description_bytes = uint64_t{0};
    if (status)
        description_bytes = describe(file);
    const std::scoped_lock lock(mutex_);
    bytes_.remove(request.owner, bytes);
    counts_.remove(request.owner, 1);
    if (!status || !description_bytes) {
        ::unlink(path_of(file.id).c_str());
        return status ? description_bytes.error() : status.error();
    }
    insert(file, *description_bytes);
    return file;
}

Result<StoredFile> Files::adopt(StoredFile file, const std::filesystem::path& path, uint64_t charged_bytes) {
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
    ETNA_TRY(const uint64_t description_bytes, describe(file));
    const std::scoped_lock lock(mutex_);
    bytes_.remove(file.owner, charged_bytes);
    if (!files_.contains(file.id))
        insert(file, description_bytes);
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

/// Removes a file; its description first, so that no description lacks its content. A content in use stays
/// counted until its last use ends, and keeps its name while it is downloaded, so that evict() finds it.
void Files::erase(const std::string& id) {
    ::unlink(note_of(id).c_str());
    Content& content = contents_[id];
    if (content.readers == 0)
        ::unlink(path_of(id).c_str());
    bytes_.remove(content.owner, std::exchange(description_bytes_[id], 0));
    counts_.remove(content.owner, 1);
    content.is_listed = false;
    if (!content.is_used()) {
        bytes_.remove(content.owner, content.bytes);
        contents_.erase(id);
    }
    description_bytes_.erase(id);
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

/// Returns null if the owner has no candidate.
const StoredFile* Files::oldest_file(const storage::Owner& owner,
                                     bool (*is_candidate)(const Content&)) const {
    const StoredFile* oldest = nullptr;
    for (const auto& [id, file] : files_) {
        const bool is_older =
            oldest == nullptr || std::tie(file.created_s, file.id) < std::tie(oldest->created_s, oldest->id);
        if (file.owner == owner && is_older && is_candidate(contents_.at(id)))
            oldest = &file;
    }
    return oldest;
}

/// Removes a file for another owner, or what downloads hold of a removed one: their next block fails. Returns
/// whether that freed its room.
bool Files::evict(const std::string& id) {
    const int descriptor = ::open(path_of(id).c_str(), O_WRONLY | O_CLOEXEC);
    if (files_.contains(id))
        erase(id);
    ::unlink(path_of(id).c_str());
    const auto content = contents_.find(id);
    struct stat info{};
    // A batch that is about to end may have the content under another name.
    const bool is_freed = content != contents_.end() && ::fstat(descriptor, &info) == 0 &&
                          info.st_nlink == 0 && ::ftruncate(descriptor, 0) == 0;
    if (is_freed)
        bytes_.remove(content->second.owner, std::exchange(content->second.bytes, 0));
    if (descriptor >= 0)
        ::close(descriptor);
    return is_freed || content == contents_.end();
}

/// Frees what downloads hold of a removed file of the owner; returns false if there is none.
bool Files::evict_removed_file(const storage::Owner& owner) {
    for (const auto& [id, content] : contents_) {
        const bool is_removed = !content.is_listed && content.batches == 0 && content.bytes > 0;
        if (content.owner == owner && is_removed && evict(std::string(id)))
            return true;
    }
    return false;
}

/// Evicts what downloads hold of a removed file of a loser, or else the oldest unused file of the first of
/// the losers that has one, or else the oldest that is being downloaded. Returns false if all are inputs of
/// unfinished batches.
bool Files::evict_file_for(const std::vector<storage::Owner>& losers) {
    if (std::ranges::any_of(losers, [&](const storage::Owner& one) { return evict_removed_file(one); }))
        return true;
    constexpr bool (*candidates[])(const Content&) = {
        [](const Content& content) { return !content.is_used(); },
        [](const Content& content) { return content.batches == 0; }};
    for (const auto is_candidate : candidates) {
        for (const storage::Owner& loser : losers) {
            if (const StoredFile* const oldest = oldest_file(loser, is_candidate)) {
                evict(std::string(oldest->id));
                return true;
            }
        }
    }
    return false;
}

/// Returns whether `bytes` more of the owner fit on the disk; removes files of owners beyond their share for
/// an owner within its own.
bool Files::make_room(const storage::Owner& owner, uint64_t bytes) {
    while (!bytes_.has_room(bytes)) {
        if (!bytes_.is_within_share(owner, bytes) || !evict_file_for(bytes_.beyond_share(owner)))
            return false;
    }
    return true;
}

/// As make_room(), but also ends unfinished batches, and waits for their ends. Releases the lock meanwhile.
bool Files::wait_for_room(std::unique_lock<std::mutex>& lock, const storage::Owner& owner, uint64_t bytes) {
    const auto end = std::chrono::steady_clock::now() + room_time_max;
    while (!make_room(owner, bytes)) {
        if (!bytes_.is_within_share(owner, bytes) || std::chrono::steady_clock::now() >= end)
            return false;
        const std::vector<storage::Owner> losers = bytes_.beyond_share(owner);
        lock.unlock();
        const bool is_ending = std::ranges::any_of(losers, end_batch_);
        if (is_ending)
            std::this_thread::sleep_for(room_poll);
        lock.lock();
        if (!is_ending)
            return make_room(owner, bytes);
    }
    return true;
}

void Files::hold_input(const std::string& name, const storage::Owner& owner, uint64_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (!contents_.contains(name)) {
        contents_[name] = {.owner = owner, .bytes = bytes};
        bytes_.add(owner, bytes);
    }
    ++contents_[name].batches;
}

/// Ends one of the uses of a content.
void Files::end_use(const std::string& name, uint32_t Content::* users) {
    const auto found = contents_.find(name);
    if (found == contents_.end() || found->second.*users == 0)
        return;
    Content& content = found->second;
    --(content.*users);
    if (content.is_listed)
        return;
    if (users == &Content::readers && content.readers == 0)
        ::unlink(path_of(name).c_str());
    if (!content.is_used()) {
        bytes_.remove(content.owner, content.bytes);
        contents_.erase(found);
    }
}

void Files::release_input(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    end_use(name, &Content::batches);
}

Files::Guard Files::read(const storage::Owner& owner, const std::string& id) {
    {
        const std::scoped_lock lock(mutex_);
        const auto found = contents_.find(id);
        if (found == contents_.end() || found->second.owner != owner || !found->second.is_listed)
            return nullptr;
        ++found->second.readers;
    }
    return {this, [id](Files* files) { // also called if no memory is left for the guard
                const std::scoped_lock lock(files->mutex_);
                files->end_use(id, &Content::readers);
            }};
}

Status Files::charge(const storage::Owner& owner, uint64_t bytes) {
    std::unique_lock lock(mutex_);
    if (!wait_for_room(lock, owner, bytes))
        return no_room();
    bytes_.add(owner, bytes);
    return {};
}

Status Files::charge_now(const storage::Owner& owner, uint64_t bytes) {
    const std::scoped_lock lock(mutex_);
    if (!make_room(owner, bytes))
        return no_room();
    bytes_.add(owner, bytes);
    return {};
}

void Files::count_found(const storage::Owner& owner, uint64_t bytes) {
    const std::scoped_lock lock(mutex_);
    bytes_.add(owner, bytes);
}

void Files::discharge(const storage::Owner& owner, uint64_t bytes) {
    const std::scoped_lock lock(mutex_);
    bytes_.remove(owner, bytes);
}

uint64_t Files::bytes() {
    const std::scoped_lock lock(mutex_);
    return bytes_.total();
}

} // namespace etna::server::batch

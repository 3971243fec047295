#include "server/storage/store_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace etna::server::storage {
namespace {

constexpr mode_t own_file = 0600;
constexpr mode_t own_folder = 0700;
constexpr std::array<std::string_view, 3> companions = {"-wal", "-shm",
                                                        "-journal"}; // sqlite.org/tempfiles.html

std::filesystem::path with(const std::filesystem::path& file, std::string_view ending) {
    return file.string() + std::string(ending);
}

/// Creates missing folders from the root down; existing ones are unchanged. Failures are reported when the
/// file is opened.
void create_folders(const std::filesystem::path& folder) {
    std::filesystem::path path;
    for (const std::filesystem::path& part : folder) {
        path /= part;
        ::mkdir(path.c_str(), own_folder);
    }
}

bool is_there(const std::filesystem::path& path) {
    struct stat info{};
    return ::lstat(path.c_str(), &info) == 0;
}

/// Whether neither the name nor any of its companion files exists.
bool is_free(const std::filesystem::path& path) {
    return !is_there(path) && std::ranges::none_of(companions, [&](std::string_view ending) {
        return is_there(with(path, ending));
    });
}

Error cannot_create(const std::filesystem::path& file, std::string_view reason) {
    return {ErrorKind::io, fmt::format("{}: {}", file.string(), reason),
            "create its folder, allow writing to it, or choose another file"};
}

Status rename_file(const std::filesystem::path& file, const std::filesystem::path& name) {
    if (::rename(file.c_str(), name.c_str()) == 0)
        return {};
    return Error{
        ErrorKind::io,
        fmt::format("{}: cannot rename to {}: {}", file.string(), name.string(), std::strerror(errno)),
        "allow writing to its folder, or choose another file"};
}

/// Seconds since 1970.
int64_t now_s() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

/// The time by which the lock's holder has announced to release it, read from the lock file; 0: not
/// announced.
int64_t announced_end_s(int descriptor) {
    std::array<char, 32> text{};
    const ssize_t bytes = ::pread(descriptor, text.data(), text.size(), 0);
    int64_t end_s = 0;
    if (bytes > 0)
        std::from_chars(text.data(), text.data() + bytes, end_s);
    return end_s;
}

} // namespace

FileLock::~FileLock() {
    if (descriptor_ >= 0)
        ::close(descriptor_);
}

Result<FileLock> FileLock::take(const std::filesystem::path& file) {
    const std::filesystem::path path = with(file, ".lock");
    constexpr int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | flags, own_file);
    if (descriptor < 0)
        descriptor = ::open(path.c_str(), O_RDONLY | flags);
    if (descriptor < 0)
        return FileLock();
    FileLock lock(descriptor);
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        if (announced_end_s(descriptor) >= now_s()) {
            return Error{ErrorKind::busy,
                         fmt::format("{}: another process has it open, and is about to end", file.string()),
                         "retry when it has ended"};
        }
        return Error{ErrorKind::io, fmt::format("{}: another process has it open", file.string()),
                     "end that process, or choose another file"};
    }
    (void)::ftruncate(descriptor, 0); // clears the previous holder's announcement
    return lock;                      // also if the file system does not support locks
}

void FileLock::announce_end(std::chrono::seconds within) const {
    const std::string text = fmt::format("{}\n", now_s() + within.count());
    if (descriptor_ >= 0)
        (void)!::pwrite(descriptor_, text.data(), text.size(), 0);
}

Result<std::filesystem::path> create_file(const std::filesystem::path& file) {
    create_folders(file.parent_path());
    struct stat info{};
    if (::stat(file.c_str(), &info) != 0) { // else not opened: closing it ends this process's locks
        const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, own_file);
        if (descriptor < 0)
            return cannot_create(file, std::strerror(errno));
        ::close(descriptor);
        if (::stat(file.c_str(), &info) != 0)
            return cannot_create(file, std::strerror(errno));
    }
    if (!S_ISREG(info.st_mode))
        return cannot_create(file, "not a regular file");
    std::error_code failure;
    std::filesystem::path real = std::filesystem::canonical(file, failure);
    if (failure)
        return cannot_create(file, failure.message());
    return real;
}

void reserve_change(const std::filesystem::path& file) {
    constexpr off_t usual_bytes = 4 << 20; // SQLite's default WAL size before a checkpoint
    const int descriptor = ::open(with(file, "-wal").c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
        return;
    (void)::posix_fallocate(descriptor, 0, usual_bytes); // zeros after the last frame are ignored
    ::close(descriptor);                                 // SQLite has no locks on it that this would release
}

bool has_pending_changes(const std::filesystem::path& file) {
    struct stat info{};
    for (const std::string_view ending : companions) {
        if (ending != "-shm" && ::stat(with(file, ending).c_str(), &info) == 0 && info.st_size > 0)
            return true;
    }
    return false;
}

Result<std::filesystem::path> move_aside(const std::filesystem::path& file) {
    std::filesystem::path free = with(file, ".damaged-1");
    for (int n = 2; !is_free(free); ++n)
        free = with(file, fmt::format(".damaged-{}", n));
    ETNA_CHECK(rename_file(file, free));
    for (const std::string_view ending : companions) {
        if (is_there(with(file, ending)))
            ETNA_CHECK(rename_file(with(file, ending), with(free, ending)));
    }
    return free;
}

} // namespace etna::server::storage

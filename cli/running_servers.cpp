#include "cli/running_servers.hpp"

#include "cli/text_io.hpp"
#include "core/base/json.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace etna::cli {
namespace {

constexpr std::string_view extension = ".json";
constexpr std::size_t announcement_bytes_max = 64 * kibibyte;

int open_file(const std::filesystem::path& path, int flags) {
    return ::open(path.c_str(), flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/// Returns a name that no other process chooses, also in a container that shares the folder.
std::string new_name() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return fmt::format("{}-{:x}{}", ::getpid(), now.count(), extension);
}

/// Creates a new file and locks it; retries if `etna ps` removes it before the lock is taken. Returns -1 and
/// sets errno on failure.
int create_locked(const std::filesystem::path& path) {
    constexpr int tries_max = 10;
    for (int tries = 0; tries < tries_max; ++tries) {
        const int descriptor = open_file(path, O_CREAT | O_EXCL);
        if (descriptor < 0)
            return -1;
        struct stat status{};
        if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && ::fstat(descriptor, &status) == 0 &&
            status.st_nlink > 0)
            return descriptor;
        ::unlink(path.c_str());
        ::close(descriptor);
    }
    errno = EAGAIN;
    return -1;
}

/// Returns whether the process that listed the server lives. Removes the file if it does not.
bool is_alive(const std::filesystem::path& path) {
    const int descriptor = open_file(path, 0);
    if (descriptor < 0)
        return false;
    const bool is_held =
        ::flock(descriptor, LOCK_SH | LOCK_NB) != 0; // shared, so that commands do not block each other
    if (!is_held)
        ::unlink(path.c_str());
    ::close(descriptor);
    return is_held;
}

/// Returns the server in the file; empty if the file is damaged.
std::optional<RunningServer> read_announcement(const std::filesystem::path& path) {
    const auto text = read_text_file(path, announcement_bytes_max);
    const Json json = text ? parse_json(*text, 2) : Json();
    const auto member = [&](const char* name) {
        return json.is_object() && json.contains(name) && json[name].is_string()
                   ? json[name].get<std::string>()
                   : std::string();
    };
    RunningServer server = {.url = member("url"), .certificate = member("certificate")};
    return server.url.empty() ? std::nullopt : std::optional(std::move(server));
}

} // namespace

Result<ServerAnnouncement> ServerAnnouncement::publish(const std::filesystem::path& folder,
                                                       const RunningServer& server) {
    const auto failed = [&](const std::string& reason) {
        return Error{ErrorKind::io,
                     fmt::format("`etna ps` will not find this server: cannot write to {}: {}",
                                 folder.string(), reason),
                     "name the server with `etna ps --url`"};
    };
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (failure)
        return failed(failure.message());
    const std::filesystem::path path = folder / new_name();
    const int descriptor = create_locked(path);
    if (descriptor < 0)
        return failed(std::strerror(errno));
    ServerAnnouncement announcement(path, descriptor);
    const std::string text =
        dump_json({{"url", server.url}, {"certificate", server.certificate.string()}}) + "\n";
    if (::write(descriptor, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return failed(std::strerror(errno));
    return announcement;
}

ServerAnnouncement::~ServerAnnouncement() {
    if (descriptor_ < 0)
        return;
    ::unlink(file_.c_str());
    ::close(descriptor_);
}

std::vector<RunningServer> running_servers(const std::filesystem::path& folder) {
    std::vector<RunningServer> servers;
    std::error_code failure;
    std::filesystem::directory_iterator entry(folder, failure);
    for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
        if (entry->path().extension() != extension || !is_alive(entry->path()))
            continue;
        if (auto server = read_announcement(entry->path()))
            servers.push_back(std::move(*server));
    }
    std::ranges::sort(servers, {}, &RunningServer::url);
    return servers;
}

} // namespace etna::cli

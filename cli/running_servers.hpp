#pragma once

#include "core/base/result.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace etna::cli {

/// An `etna serve` of this user on this machine.
struct RunningServer {
    std::string url;                   ///< for clients on this machine: "http://127.0.0.1:8080"
    std::filesystem::path certificate; ///< PEM; empty without TLS
};

/// Lists a server for other processes while this object lives: a locked file in the folder.
class ServerAnnouncement {
public:
    /// Creates the folder. Errors: io.
    static Result<ServerAnnouncement> publish(const std::filesystem::path& folder,
                                              const RunningServer& server);

    ServerAnnouncement(ServerAnnouncement&& other) noexcept
        : file_(std::move(other.file_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
    ServerAnnouncement& operator=(ServerAnnouncement&&) = delete;
    ServerAnnouncement(const ServerAnnouncement&) = delete;
    ServerAnnouncement& operator=(const ServerAnnouncement&) = delete;
    ~ServerAnnouncement(); ///< removes the file

private:
    ServerAnnouncement(std::filesystem::path file, int descriptor)
        : file_(std::move(file)), descriptor_(descriptor) {}

    std::filesystem::path file_;
    int descriptor_;
};

/// Returns the listed servers whose processes live, by address. Removes the files of those that were killed.
std::vector<RunningServer> running_servers(const std::filesystem::path& folder);

} // namespace etna::cli

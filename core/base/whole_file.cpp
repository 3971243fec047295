#include "core/base/whole_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace etna {
namespace {

Error cannot(std::string_view what, const std::filesystem::path& path, std::string_view why) {
    return {ErrorKind::io, fmt::format("cannot {} {}: {}", what, path.string(), why)};
}

/// Removes the temporary file unless it was renamed.
struct Unfinished {
    std::string path;
    int descriptor;

    Unfinished(std::string file, int opened) : path(std::move(file)), descriptor(opened) {}
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;
    ~Unfinished() {
        if (descriptor >= 0)
            ::close(descriptor);
        if (!path.empty())
            ::unlink(path.c_str());
    }
};

Status write_all(int descriptor, ByteView bytes, const std::filesystem::path& path) {
    while (!bytes.empty()) {
        const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return cannot("write", path, std::strerror(errno));
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return {};
}

} // namespace

Status write_whole_file(const std::filesystem::path& path, std::span<const ByteView> parts) {
    std::error_code failure;
    if (path.has_parent_path())
        std::filesystem::create_directories(path.parent_path(), failure);
    if (failure)
        return cannot("make the folder", path.parent_path(), failure.message());
    std::string name = path.string() + ".XXXXXX";
    const int descriptor = ::mkstemp(name.data()); // of mode 0600
    if (descriptor < 0)
        return cannot("create", path, std::strerror(errno));
    Unfinished unfinished(name, descriptor);
    for (const ByteView part : parts)
        ETNA_CHECK(write_all(descriptor, part, path));
    if (::rename(name.c_str(), path.c_str()) != 0)
        return cannot("name", path, std::strerror(errno));
    unfinished.path.clear();
    return {};
}

} // namespace etna

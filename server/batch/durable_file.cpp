#include "server/batch/durable_file.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace etna::server::batch {
namespace {

Error durable_error(const std::filesystem::path& path, int number) {
    return {ErrorKind::io, fmt::format("cannot write {}: {}", path.string(), std::strerror(number))};
}

/// Returns the system's error, 0 on success.
int write_all(int descriptor, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(descriptor, text.data(), text.size());
        if (count < 0 && errno != EINTR)
            return errno;
        text.remove_prefix(count < 0 ? 0 : static_cast<std::size_t>(count));
    }
    return 0;
}

} // namespace

void sync_folder(const std::filesystem::path& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor >= 0) {
        (void)::fsync(descriptor);
        ::close(descriptor);
    }
}

Status write_durable_file(const std::filesystem::path& path, std::string_view text) {
    constexpr mode_t own_file = 0600;
    const std::string partial = path.string() + ".partial"; // one writer at a time
    const int descriptor = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, own_file);
    if (descriptor < 0)
        return durable_error(path, errno);
    int number = write_all(descriptor, text);
    if (::close(descriptor) != 0 && number == 0)
        number = errno;
    if (number != 0) {
        ::unlink(partial.c_str());
        return durable_error(path, number);
    }
    return rename_durably(partial, path);
}

Status rename_durably(const std::filesystem::path& partial, const std::filesystem::path& path) {
    const int descriptor = ::open(partial.c_str(), O_RDONLY | O_CLOEXEC);
    int number = descriptor < 0 || ::fsync(descriptor) != 0 ? errno : 0;
    if (descriptor >= 0)
        ::close(descriptor);
    if (number == 0 && ::rename(partial.c_str(), path.c_str()) != 0)
        number = errno;
    if (number != 0) {
        ::unlink(partial.c_str());
        return durable_error(path, number);
    }
    sync_folder(path.parent_path());
    return {};
}

} // namespace etna::server::batch

#include "core/store/unfinished.hpp"

#include <algorithm>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace etna::store {
namespace {

/// Returns the bytes on the disk of a file that no process has locked.
std::optional<uint64_t> unlocked_disk_bytes(const std::filesystem::path& path) {
    constexpr uint64_t block_bytes = 512; // of st_blocks
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0)
        return std::nullopt;
    struct stat status{};
    const bool is_free = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                         ::flock(descriptor, LOCK_SH | LOCK_NB) == 0;
    ::close(descriptor);
    return is_free ? std::optional(static_cast<uint64_t>(status.st_blocks) * block_bytes) : std::nullopt;
}

} // namespace

std::vector<UnfinishedDownload> unfinished_downloads(const std::filesystem::path& models_folder) {
    std::vector<UnfinishedDownload> found;
    std::error_code failure;
    for (std::filesystem::directory_iterator entry(models_folder / "blobs", failure), end;
         !failure && entry != end; entry.increment(failure)) {
        if (entry->path().extension() != ".part")
            continue;
        if (const auto bytes = unlocked_disk_bytes(entry->path()))
            found.push_back({entry->path(), *bytes});
    }
    std::ranges::sort(found, {}, &UnfinishedDownload::path);
    return found;
}

} // namespace etna::store

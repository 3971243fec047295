#include "core/base/file_reader.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace etna {
namespace {

Error system_error(const std::filesystem::path& path, int code) {
    const ErrorKind kind = code == ENOENT || code == ENOTDIR ? ErrorKind::not_found : ErrorKind::io;
    return {kind, fmt::format("{}: {}", path.string(), std::strerror(code))};
}

int64_t modified_ns(const struct stat& info) {
    constexpr int64_t ns_per_s = 1'000'000'000;
    return info.st_mtim.tv_sec * ns_per_s + info.st_mtim.tv_nsec;
}

} // namespace

Result<FileReader> FileReader::open(const std::filesystem::path& path) {
    // Without O_NONBLOCK, opening a FIFO blocks until there is a writer, before its file type can be checked.
    FileReader file(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info{};
    if (file.descriptor_ < 0 || ::fstat(file.descriptor_, &info) != 0)
        return system_error(path, errno);
    if (!S_ISREG(info.st_mode))
        return Error{ErrorKind::io, fmt::format("{}: not a regular file", path.string())};
    ::posix_fadvise(file.descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
    file.bytes_ = static_cast<uint64_t>(info.st_size);
    file.modified_ns_ = modified_ns(info);
    return file;
}

FileReader::FileReader(FileReader&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), bytes_(other.bytes_),
      modified_ns_(other.modified_ns_) {}

FileReader& FileReader::operator=(FileReader&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(bytes_, other.bytes_);
    std::swap(modified_ns_, other.modified_ns_);
    return *this;
}

FileReader::~FileReader() {
    if (descriptor_ >= 0)
        ::close(descriptor_);
}

Status FileReader::read(uint64_t offset, MutableByteView into) const {
    while (!into.empty()) {
        const ssize_t count = ::pread(descriptor_, into.data(), into.size(), static_cast<off_t>(offset));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return system_error(path_, errno);
        if (count == 0)
            return changed();
        into = into.subspan(static_cast<std::size_t>(count));
        offset += static_cast<uint64_t>(count);
    }
    return {};
}

Status FileReader::check_unchanged() const {
    struct stat info{};
    if (::fstat(descriptor_, &info) != 0)
        return system_error(path_, errno);
    const bool is_same = static_cast<uint64_t>(info.st_size) == bytes_ && modified_ns(info) == modified_ns_;
    return is_same ? Status() : changed();
}

Error FileReader::changed() const {
    return {ErrorKind::io, fmt::format("{}: was changed while it was read", path_.string()),
            "retry when the file is complete; to replace a file atomically, rename the new one over it"};
}

} // namespace etna

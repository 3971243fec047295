#include "core/base/mapped_file.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace etna {
namespace {

/// Closes a POSIX descriptor at the end of a scope.
struct Descriptor {
    int value;
    explicit Descriptor(int descriptor) : value(descriptor) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (value >= 0)
            ::close(value);
    }
};

Error system_error(const std::filesystem::path& path, int code) {
    const ErrorKind kind = code == ENOENT || code == ENOTDIR ? ErrorKind::not_found : ErrorKind::io;
    return {kind, fmt::format("{}: {}", path.string(), std::strerror(code))};
}

} // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
    // Without O_NONBLOCK, opening a FIFO would wait for a writer before its kind can be seen.
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.value < 0)
        return system_error(path, errno);
    struct stat info{};
    if (::fstat(file.value, &info) != 0)
        return system_error(path, errno);
    if (!S_ISREG(info.st_mode))
        return Error{ErrorKind::io, fmt::format("{}: not a regular file", path.string())};
    const auto size = static_cast<std::size_t>(info.st_size);
    if (size == 0) // mmap refuses empty ranges; an empty view says the same
        return MappedFile(nullptr, 0);
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value, 0);
    if (data == MAP_FAILED)
        return system_error(path, errno);
    return MappedFile(static_cast<const std::byte*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

MappedFile::~MappedFile() {
    if (data_ != nullptr)
        ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::drop(uint64_t offset, uint64_t bytes) const {
    const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const uint64_t begin = round_up(offset, page);
    const uint64_t end = (offset + bytes) / page * page;
    if (end > begin && end <= size_)
        ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

} // namespace etna

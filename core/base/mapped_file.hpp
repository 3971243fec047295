#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"

#include <cstdint>
#include <filesystem>

namespace etna {

/// A whole file mapped read-only. The bytes stay valid until destruction or move. Thread-safe for reading.
/// A file that is truncated by someone else while mapped raises SIGBUS on access, as with every mapping.
class MappedFile {
public:
    /// Errors: not_found (no such file), io (not readable, a directory, or the mapping failed).
    static Result<MappedFile> open(const std::filesystem::path& path);

    MappedFile(MappedFile&& other) noexcept;
    MappedFile& operator=(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile();

    [[nodiscard]] ByteView bytes() const { return {data_, size_}; }

    /// Tells the kernel that [offset, offset + bytes) will not be read again, so that its pages leave this
    /// process's memory. Reading them afterwards still works. Whole pages inside the range only.
    void drop(uint64_t offset, uint64_t bytes) const;

private:
    MappedFile(const std::byte* data, std::size_t size) : data_(data), size_(size) {}

    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace etna

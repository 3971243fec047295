#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"

#include <cstdint>
#include <filesystem>

namespace etna {

/// A regular file, open for reading at any place. Nothing is mapped: what somebody else does to the file
/// meanwhile is an error here, where reading a mapping beyond the new end would be a SIGBUS. Thread-safe.
class FileReader {
public:
    /// Errors: not_found (no such file), io (not readable, or no regular file).
    static Result<FileReader> open(const std::filesystem::path& path);

    FileReader(FileReader&& other) noexcept;
    FileReader& operator=(FileReader&& other) noexcept;
    FileReader(const FileReader&) = delete;
    FileReader& operator=(const FileReader&) = delete;
    ~FileReader();

    /// How long it was when it was opened.
    [[nodiscard]] uint64_t bytes() const { return bytes_; }

    /// Reads `into.size()` bytes from `offset` on. Blocking. Errors: io (the system's, or the file has become
    /// shorter).
    Status read(uint64_t offset, MutableByteView into) const;

    /// Whether all that was read can be of one file: length and time of change are those of its opening.
    /// Error: io.
    [[nodiscard]] Status check_unchanged() const;

private:
    FileReader(std::filesystem::path path, int descriptor)
        : path_(std::move(path)), descriptor_(descriptor) {}
    [[nodiscard]] Error changed() const;

    std::filesystem::path path_; ///< for errors
    int descriptor_ = -1;
    uint64_t bytes_ = 0;
    int64_t modified_ns_ = 0;
};

} // namespace etna

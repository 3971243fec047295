#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"

#include <cstdint>
#include <filesystem>

namespace etna {

/// A regular file, open for random-access reads. The file is not mapped: if another process truncates it, a
/// read returns an error, whereas an access past the end of a mapping raises SIGBUS. Thread-safe.
class FileReader {
public:
    /// Errors: not_found (no such file), io (not readable, or no regular file).
    static Result<FileReader> open(const std::filesystem::path& path);

    FileReader(FileReader&& other) noexcept;
    FileReader& operator=(FileReader&& other) noexcept;
    FileReader(const FileReader&) = delete;
    FileReader& operator=(const FileReader&) = delete;
    ~FileReader();

    /// Size of the file when it was opened.
    [[nodiscard]] uint64_t bytes() const { return bytes_; }

    /// Reads `into.size()` bytes starting at `offset`. Blocks. Errors: io (a system error, or the file was
    /// truncated).
    Status read(uint64_t offset, MutableByteView into) const;

    /// Checks that all reads saw the same content: size and change time are unchanged since open(). Error:
    /// io.
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

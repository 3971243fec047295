#pragma once

#include "core/base/result.hpp"

#include <chrono>
#include <filesystem>
#include <utility>

// File handling for the store before SQLite opens it. Paths are absolute.
namespace etna::server::storage {

/// An inter-process lock on the file, held until destruction or process end. Uses a separate file, FILE.lock,
/// which is never removed. Move-only.
class FileLock {
public:
    FileLock() = default;
    FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    FileLock& operator=(FileLock&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~FileLock();

    [[nodiscard]] bool is_held() const { return descriptor_ >= 0; }

    /// Not held if the lock file can be neither created nor opened: then the store's file is not writable
    /// either, or opening it reports why. Errors: io (another process holds the lock), busy (the holder has
    /// announced its end).
    static Result<FileLock> take(const std::filesystem::path& file);

    /// Announces that the file will be released within this time. If that cannot be written, others treat the
    /// lock as held indefinitely.
    void announce_end(std::chrono::seconds within) const;

private:
    explicit FileLock(int descriptor) : descriptor_(descriptor) {}
    int descriptor_ = -1;
};

/// Creates missing folders (0700) and the file (empty, 0600). Returns the path with symbolic links resolved,
/// next to which SQLite stores its auxiliary files. Errors: io (creation failed, or the name is taken by
/// something else).
Result<std::filesystem::path> create_file(const std::filesystem::path& file);

/// Preallocates space for the WAL of the open file, as far as available, so that removals can be written on a
/// full disk.
void reserve_change(const std::filesystem::path& file);

/// Whether the WAL contains changes that are not in the file yet.
bool has_pending_changes(const std::filesystem::path& file);

/// Renames the file and SQLite's auxiliary files to FILE.damaged-N with the first unused N. Returns that
/// path. Error: io.
Result<std::filesystem::path> move_aside(const std::filesystem::path& file);

} // namespace etna::server::storage

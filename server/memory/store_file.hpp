#pragma once

#include "core/base/result.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <utility>

// The store's file among others, before SQLite sees it. Paths are absolute.
namespace etna::server::memory {

/// Says to other processes that the file is taken, for as long as this lives or its process does. Holds a
/// file of its own, FILE.lock, that stays. Move-only.
class FileLock {
public:
    FileLock() = default;
    FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    FileLock& operator=(FileLock&& other) noexcept {
        std::swap(descriptor_, other.descriptor_);
        return *this;
    }
    ~FileLock();

    /// Empty where the lock's file can neither be made nor opened: then nobody can write the file either, or
    /// opening it says why. Errors: io (somebody else holds it), busy (and has announced to let go of it).
    static Result<std::optional<FileLock>> take(const std::filesystem::path& file);

    /// Tells others that the file will be free within this time. Where that cannot be written, they take it
    /// for one that is held on to.
    void announce_end(std::chrono::seconds within) const;

private:
    explicit FileLock(int descriptor) : descriptor_(descriptor) {}
    int descriptor_ = -1;
};

/// The folder and those above it, 0700, and the file, empty and 0600, where they are missing. Gives the path
/// without links, beside which SQLite keeps its files. Errors: io (they cannot be made, something else of
/// that name is there).
Result<std::filesystem::path> make_file(const std::filesystem::path& file);

/// Takes room for changes beside the file, which is open, as far as there is any: those that take something
/// away are to be written when the disk is full.
void reserve_change(const std::filesystem::path& file);

/// Whether changes lie beside the file that are not in it yet.
bool has_pending_changes(const std::filesystem::path& file);

/// Renames the file, and what SQLite keeps beside it, to FILE.damaged-N with the first N that is free; gives
/// that path. Error: io.
Result<std::filesystem::path> move_aside(const std::filesystem::path& file);

} // namespace etna::server::memory

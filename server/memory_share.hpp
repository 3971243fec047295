#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace etna::server {

/// What one of many holds of a bounded total, in bytes; gives it back at its end. The total is shared among
/// threads, a share is not.
class MemoryShare {
public:
    /// Holds nothing yet. `total` is borrowed.
    explicit MemoryShare(std::atomic<std::size_t>& total) : total_(&total) {}
    MemoryShare(MemoryShare&& other) noexcept
        : total_(other.total_), bytes_(std::exchange(other.bytes_, 0)) {}
    MemoryShare& operator=(MemoryShare&& other) noexcept {
        std::swap(total_, other.total_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    MemoryShare(const MemoryShare&) = delete;
    MemoryShare& operator=(const MemoryShare&) = delete;
    ~MemoryShare() { *total_ -= bytes_; }

    /// Holds `bytes`, no fewer than before, from now on; false, and nothing changes, where the total would be
    /// more than `total_max`.
    bool grow_to(std::size_t bytes, std::size_t total_max) {
        const std::size_t more = bytes - bytes_;
        if (total_->fetch_add(more) + more > total_max) {
            *total_ -= more;
            return false;
        }
        bytes_ = bytes;
        return true;
    }

    /// The same, by so many bytes more.
    bool grow_by(std::size_t bytes, std::size_t total_max) { return grow_to(bytes_ + bytes, total_max); }

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    std::atomic<std::size_t>* total_;
    std::size_t bytes_ = 0;
};

} // namespace etna::server

#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace etna::server {

/// A byte budget with an upper bound, shared by many holders. Thread-safe.
class MemoryTotal {
public:
    explicit MemoryTotal(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    /// Returns false, and changes nothing, if the total would exceed the bound.
    bool take(std::size_t bytes) {
        if (bytes > bytes_max_)
            return false;
        if (held_.fetch_add(bytes) <= bytes_max_ - bytes)
            return true;
        held_ -= bytes;
        return false;
    }

    void give_back(std::size_t bytes) {
        held_ -= bytes;
        given_back_ += bytes;
    }

    [[nodiscard]] bool could_hold(std::size_t bytes) const { return bytes <= bytes_max_; }
    [[nodiscard]] std::size_t held() const { return held_; }

    /// Bytes returned since the last call.
    [[nodiscard]] std::size_t take_given_back() { return given_back_.exchange(0); }

private:
    const std::size_t bytes_max_;
    std::atomic<std::size_t> held_{0};
    std::atomic<std::size_t> given_back_{0};
};

/// One holder's share of a MemoryTotal, returned on destruction. Not thread-safe.
class MemoryShare {
public:
    static constexpr std::size_t uncounted_bytes = 64 * 1024;

    /// Starts with an empty share.
    explicit MemoryShare(std::shared_ptr<MemoryTotal> total) : total_(std::move(total)) {}
    MemoryShare(MemoryShare&& other) noexcept
        : total_(std::move(other.total_)), bytes_(std::exchange(other.bytes_, 0)),
          is_too_large_(other.is_too_large_) {}
    MemoryShare& operator=(MemoryShare&& other) noexcept {
        std::swap(total_, other.total_);
        std::swap(bytes_, other.bytes_);
        std::swap(is_too_large_, other.is_too_large_);
        return *this;
    }
    MemoryShare(const MemoryShare&) = delete;
    MemoryShare& operator=(const MemoryShare&) = delete;
    ~MemoryShare() {
        if (bytes_ > 0)
            total_->give_back(bytes_);
    }

    /// Grows the share by `bytes`. Returns false, and changes nothing, if the total would exceed the bound.
    bool grow_by(std::size_t bytes) {
        if (!total_->take(bytes))
            return false;
        bytes_ += bytes;
        return true;
    }

    /// The same for a request, except that small claims are granted without being counted, so that large
    /// requests cannot starve small ones.
    bool claim(std::size_t bytes) {
        if (bytes <= uncounted_bytes)
            return true;
        is_too_large_ = !total_->could_hold(bytes_ + (bytes - uncounted_bytes));
        return grow_by(bytes - uncounted_bytes);
    }

    /// Whether the last counted claim can never succeed: this request alone would exceed the bound.
    [[nodiscard]] bool is_too_large() const { return is_too_large_; }

    /// Shrinks the share to at most `bytes`.
    void shrink_to(std::size_t bytes) {
        if (bytes < bytes_)
            total_->give_back(bytes_ - bytes);
        bytes_ = bytes < bytes_ ? bytes : bytes_;
    }

    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    std::shared_ptr<MemoryTotal> total_;
    std::size_t bytes_ = 0;
    bool is_too_large_ = false;
};

} // namespace etna::server

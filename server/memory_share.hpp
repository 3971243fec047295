#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace etna::server {

/// Memory that many hold shares of, in bytes, and that has a bound. Thread-safe.
class MemoryTotal {
public:
    explicit MemoryTotal(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    /// False, and nothing changes, where more than the bound would be held.
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

    /// What was given back since the last call.
    [[nodiscard]] std::size_t take_given_back() { return given_back_.exchange(0); }

private:
    const std::size_t bytes_max_;
    std::atomic<std::size_t> held_{0};
    std::atomic<std::size_t> given_back_{0};
};

/// What one of many holds of the total; gives it back at its end. Not thread-safe.
class MemoryShare {
public:
    static constexpr std::size_t uncounted_bytes = 64 * 1024;

    /// Holds nothing yet.
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

    /// Holds so many bytes more; false, and nothing changes, where all together would hold too many.
    bool grow_by(std::size_t bytes) {
        if (!total_->take(bytes))
            return false;
        bytes_ += bytes;
        return true;
    }

    /// The same for a request, whose small claims are granted and not counted: small requests get through
    /// whatever large ones hold.
    bool claim(std::size_t bytes) {
        if (bytes <= uncounted_bytes)
            return true;
        is_too_large_ = !total_->could_hold(bytes_ + (bytes - uncounted_bytes));
        return grow_by(bytes - uncounted_bytes);
    }

    /// The last counted claim was refused for good: this request alone would hold more than the bound.
    [[nodiscard]] bool is_too_large() const { return is_too_large_; }

    /// Holds no more than `bytes` from now on.
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

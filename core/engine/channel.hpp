#pragma once

#include "core/engine/request.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace etna::engine {

/// Wakes the engine's thread for what is not in its inbox. Shared, since a stream may outlive the engine.
struct Bell {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_rung = false;

    void ring() {
        {
            const std::scoped_lock lock(mutex);
            is_rung = true;
        }
        changed.notify_one();
    }
};

/// What the engine's thread and the reader of one Stream share. Thread-safe.
class Channel {
public:
    Channel(uint32_t unread_max, std::shared_ptr<Bell> bell)
        : unread_max_(unread_max), bell_(std::move(bell)) {}

    /// Whether the reader is so far behind that the engine has to wait for it; see Request::unread_max.
    [[nodiscard]] bool is_full();

    /// The engine's side. Never blocks for the reader.
    void push(TokenEvent token);
    void finish(Finished finished);
    [[nodiscard]] bool is_cancelled() const { return is_cancelled_.load(std::memory_order_relaxed); }

    /// The reader's side; see Stream.
    Event next();
    std::optional<Event> next_for(std::chrono::milliseconds timeout);
    void cancel();

private:
    [[nodiscard]] bool has_event() const { return read_ < tokens_.size() || finished_.has_value(); }
    Event take(std::unique_lock<std::mutex> lock);
    [[nodiscard]] bool has_room() const { return unread_max_ == 0 || tokens_.size() - read_ < unread_max_; }

    const uint32_t unread_max_;
    const std::shared_ptr<Bell> bell_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<TokenEvent> tokens_; ///< [read_, end) are to be read
    std::size_t read_ = 0;
    std::optional<Finished> finished_;
    std::atomic<bool> is_cancelled_{false};
};

} // namespace etna::engine

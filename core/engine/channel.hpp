#pragma once

#include "core/engine/request.hpp"

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace etna::engine {

/// Wakes a thread that waits for any of several events. Shared by every thread that may ring it.
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

/// State shared by the engine's thread and the reader of one Stream. Thread-safe.
class Channel {
public:
    /// Rings `engine` when the reader makes room or cancels, and `reader` when there is an event to read.
    Channel(uint32_t unread_max, std::shared_ptr<Bell> engine, std::shared_ptr<Bell> reader)
        : unread_max_(unread_max), engine_(std::move(engine)), reader_(std::move(reader)) {}

    /// The engine's side. Never blocks on the reader.
    void push(TokenEvent token);
    void finish(Finished finished);
    void set_begun() { has_begun_.store(true, std::memory_order_relaxed); }
    [[nodiscard]] bool is_cancelled() const { return is_cancelled_.load(std::memory_order_relaxed); }

    /// Whether the unread tokens have reached the limit, so that the engine has to wait for the reader; see
    /// Request::unread_max.
    [[nodiscard]] bool is_full();

    /// The reader's side; see Stream.
    std::optional<Event> try_next();
    [[nodiscard]] bool has_begun() const { return has_begun_.load(std::memory_order_relaxed); }
    [[nodiscard]] Bell& reader() { return *reader_; }
    void cancel();

private:
    [[nodiscard]] bool has_room() const { return unread_max_ == 0 || tokens_.size() - read_ < unread_max_; }

    const uint32_t unread_max_;
    const std::shared_ptr<Bell> engine_;
    const std::shared_ptr<Bell> reader_;
    std::mutex mutex_;
    std::vector<TokenEvent> tokens_; ///< [read_, end) are unread
    std::size_t read_ = 0;
    std::optional<Finished> finished_;
    std::atomic<bool> is_cancelled_{false};
    std::atomic<bool> has_begun_{false};
};

} // namespace etna::engine

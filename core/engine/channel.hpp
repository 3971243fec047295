#pragma once

#include "core/engine/request.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

namespace etna::engine {

/// What the engine's thread and the reader of one Stream share. Thread-safe.
class Channel {
public:
    /// The engine's side. Never blocks for the reader.
    void push(TokenEvent token);
    void finish(Finished finished);
    [[nodiscard]] bool is_cancelled() const { return is_cancelled_.load(std::memory_order_relaxed); }

    /// The reader's side; see Stream.
    Event next();
    std::optional<Event> next_for(std::chrono::milliseconds timeout);
    void cancel() { is_cancelled_.store(true, std::memory_order_relaxed); }

private:
    [[nodiscard]] bool has_event() const { return read_ < tokens_.size() || finished_.has_value(); }
    Event take();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<TokenEvent> tokens_; ///< [read_, end) are to be read
    std::size_t read_ = 0;
    std::optional<Finished> finished_;
    std::atomic<bool> is_cancelled_{false};
};

} // namespace etna::engine

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

/// Wakes a thread that waits for any of several events. Shared by every thread that may notify it.
struct WakeSignal {
    std::mutex mutex;
    std::condition_variable changed;
    bool is_signalled = false;

    void notify() {
        {
            const std::scoped_lock lock(mutex);
            is_signalled = true;
        }
        changed.notify_one();
    }
};

/// State shared by the engine's thread and the reader of one Stream. Thread-safe.
class Channel {
public:
    /// Notifies `engine` when the reader frees capacity or cancels, and `reader` when there is an event to
    /// read.
    Channel(uint32_t unread_max, std::shared_ptr<WakeSignal> engine, std::shared_ptr<WakeSignal> reader)
        : unread_max_(unread_max), engine_(std::move(engine)), reader_(std::move(reader)) {}

    /// For the engine. Never block on the reader.
    void push(TokenEvent token);
    void finish(Finished finished);
    void set_progress(const PromptProgress& progress) {
        progress_.store(progress, std::memory_order_relaxed);
    }
    [[nodiscard]] bool is_cancelled() const { return is_cancelled_.load(std::memory_order_relaxed); }

    /// Whether the unread tokens have reached the limit, so that the engine has to wait for the reader; see
    /// Request::unread_max.
    [[nodiscard]] bool is_full();

    /// For the reader; see Stream.
    std::optional<Event> try_next();
    [[nodiscard]] std::optional<PromptProgress> progress() const {
        const PromptProgress progress = progress_.load(std::memory_order_relaxed);
        return progress == not_begun ? std::nullopt : std::optional(progress);
    }
    [[nodiscard]] uint32_t generated_tokens() const {
        return generated_tokens_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] const std::shared_ptr<WakeSignal>& reader() const { return reader_; }
    void cancel();

private:
    static constexpr PromptProgress not_begun = {.cached_tokens = 0xFFFFFFFF, .computed_tokens = 0};

    [[nodiscard]] bool has_capacity() const {
        return unread_max_ == 0 || tokens_.size() - read_ < unread_max_;
    }

    const uint32_t unread_max_;
    const std::shared_ptr<WakeSignal> engine_;
    const std::shared_ptr<WakeSignal> reader_;
    std::mutex mutex_;
    std::vector<TokenEvent> tokens_; ///< [read_, end) are unread
    std::size_t read_ = 0;
    std::optional<Finished> finished_;
    std::atomic<bool> is_cancelled_{false};
    std::atomic<PromptProgress> progress_{not_begun};
    std::atomic<uint32_t> generated_tokens_{0};
};

/// The receiving end of one request: any number of TokenEvents, then one Finished. Move-only; one thread
/// reads, any thread may cancel(). Destruction cancels. May outlive its engine.
///
/// A slow reader never delays other requests: events are queued in the stream. They are bounded by
/// Request::unread_max, and by the request: at most max_tokens, and never more than the context, of
/// sizeof(TokenEvent) bytes each, and one Finished.
class Stream {
public:
    explicit Stream(std::shared_ptr<Channel> channel);
    Stream(Stream&&) noexcept = default;
    Stream& operator=(Stream&& other) noexcept;
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream();

    /// Returns the next event if there is one.
    std::optional<Event> try_next();

    /// Blocks until there is an event. After Finished, returns the same Finished again, at once.
    Event next();

    /// As next(), but returns empty if `timeout` passes without an event.
    std::optional<Event> next_for(std::chrono::milliseconds timeout);

    /// Whether the request has been admitted; until then it waits in the queue. Thread-safe.
    [[nodiscard]] bool has_begun() const { return progress().has_value(); }

    /// The progress on the prompt, no older than the last token that was read; empty while the request waits.
    /// Thread-safe.
    [[nodiscard]] std::optional<PromptProgress> progress() const;

    /// Number of generated tokens that have arrived, read or not. Thread-safe.
    [[nodiscard]] uint32_t generated_tokens() const;

    /// The signal of its events.
    [[nodiscard]] const std::shared_ptr<WakeSignal>& reader() const { return channel_->reader(); }

    /// Requests the end of this request. Does not block. Takes effect within one step: Finished follows,
    /// possibly after tokens that were already generated, and with another reason if the request ended first.
    /// Thread-safe, idempotent.
    void cancel();

private:
    friend void wait_any(const Stream& one, std::chrono::milliseconds timeout);

    std::shared_ptr<Channel> channel_;
};

/// Blocks until an event has arrived, since the last call, in any of the streams that were submitted together
/// with `one`, or until `timeout` has passed. One thread reads all of them.
void wait_any(const Stream& one, std::chrono::milliseconds timeout);

} // namespace etna::engine

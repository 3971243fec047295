#pragma once

#include "core/engine/request.hpp"

#include <chrono>
#include <memory>
#include <optional>

namespace etna::engine {

class Channel;

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
    [[nodiscard]] bool has_begun() const;

    /// Asks the engine to end this request. Does not block. Takes effect within one step: Finished follows,
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

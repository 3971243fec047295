#pragma once

#include "server/http/http.hpp"

#include <chrono>
#include <string_view>

namespace etna::server {

/// A server-sent event stream to one client, with keep-alive comments and disconnect detection. Not
/// thread-safe.
class EventStream {
public:
    using Clock = std::chrono::steady_clock;

    /// Borrows the writer.
    EventStream(HttpWriter& writer, std::chrono::milliseconds keep_alive)
        : writer_(&writer), keep_alive_(keep_alive), written_(Clock::now()) {}

    /// Writes complete frames. Returns false if the client has disconnected; nothing is written after that.
    bool send(std::string_view frames);

    /// Call periodically while there is nothing to send: writes a comment when the keep-alive interval has
    /// passed, or when only a write can tell whether the client still reads. Returns true if the client has
    /// disconnected.
    bool is_left();

private:
    HttpWriter* writer_;
    std::chrono::milliseconds keep_alive_;
    Clock::time_point written_;
    bool has_left_ = false;
};

} // namespace etna::server

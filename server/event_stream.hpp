#pragma once

#include "server/http.hpp"

#include <chrono>
#include <string_view>

namespace etna::server {

/// A stream of server-sent events to one client: keeps it alive while nothing comes, and notices that the
/// client has left. Not thread-safe.
class EventStream {
public:
    using Clock = std::chrono::steady_clock;

    /// Borrows the writer.
    EventStream(HttpWriter& writer, std::chrono::milliseconds keep_alive)
        : writer_(&writer), keep_alive_(keep_alive), written_(Clock::now()) {}

    /// Whole frames. False when the client has left; nothing is written after that.
    bool send(std::string_view frames);

    /// To be called now and then while there is nothing to send: writes a comment when it is time, or when
    /// only a write can tell whether the client still reads. True when the client has left.
    bool is_left();

private:
    HttpWriter* writer_;
    std::chrono::milliseconds keep_alive_;
    Clock::time_point written_;
    bool has_left_ = false;
};

} // namespace etna::server

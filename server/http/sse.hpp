#pragma once

#include "server/http/http.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Server-sent events: the text format, and a stream of them to one client.
namespace etna::server {
namespace sse {

/// One server-sent event. A line break in a text starts another line of the same field.
struct Frame {
    std::optional<std::string> data = {};
    std::string event = {};
    std::string id = {};
    std::optional<int> retry_ms = {};
    std::vector<std::string> comments = {};
};

/// Serializes the frame, with the empty line that ends it. An event without data gets `data: null`, because
/// clients that parse the data as JSON would fail on an empty string. Source: HTML Living Standard, 9.2.
std::string write(const Frame& frame);

/// `data: TEXT`.
std::string data(std::string_view text);

/// A comment, which clients ignore.
constexpr std::string_view keep_alive = ": keep-alive\n\n";

/// An `error` event: the comments joined by " -- " (none: "unspecified error") as one comment, and the data.
std::string error(const std::vector<std::string>& comments, std::string_view json);

/// The last frame of a stream, whether it succeeded or ended in an error.
constexpr std::string_view done = "data: [DONE]\n\n";

/// The content type of a stream.
constexpr std::string_view content_type = "text/event-stream; charset=utf-8";

} // namespace sse

/// A server-sent event stream to one client, with keep-alive frames and disconnect detection. Not
/// thread-safe.
class EventStream {
public:
    using Clock = std::chrono::steady_clock;

    /// Borrows the writer. `keep_alive_frame`: the frame that prevents timeouts of an idle stream; static.
    EventStream(HttpWriter& writer, std::chrono::milliseconds keep_alive,
                std::string_view keep_alive_frame = sse::keep_alive)
        : writer_(&writer), keep_alive_(keep_alive), keep_alive_frame_(keep_alive_frame),
          last_write_(Clock::now()) {}

    /// Writes complete frames. Returns false if the client has disconnected; nothing is written after that.
    bool send(std::string_view frames);

    /// Call periodically while there is nothing to send: writes a frame when the keep-alive interval has
    /// passed, or when only a write can tell whether the client still reads. Returns true if the client has
    /// disconnected.
    bool is_disconnected();

private:
    HttpWriter* writer_;
    std::chrono::milliseconds keep_alive_;
    std::string_view keep_alive_frame_;
    Clock::time_point last_write_;
    bool is_disconnected_ = false;
};

} // namespace etna::server

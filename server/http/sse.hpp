#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::sse {

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

/// A comment frame, which clients ignore.
std::string comment(std::string_view text);

/// An `error` event: the comments joined by " -- " (none: "unspecified error") as one comment, and the data.
std::string error(const std::vector<std::string>& comments, std::string_view json);

/// The last frame of a stream, whether it succeeded or ended in an error.
constexpr std::string_view done = "data: [DONE]\n\n";

/// The content type of a stream.
constexpr std::string_view content_type = "text/event-stream; charset=utf-8";

} // namespace etna::server::sse

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::sse {

/// One event of a stream. A line break in a text makes another line of the same field.
struct Frame {
    std::optional<std::string> data = {};
    std::string event = {};
    std::string id = {};
    std::optional<int> retry_ms = {};
    std::vector<std::string> comments = {};
};

/// The frame's bytes, with the empty line that ends it. An event without data gets `data: null`: a client's
/// parser that is given an empty text for JSON would fail. Source: HTML Living Standard, 9.2.
std::string write(const Frame& frame);

/// `data: TEXT`.
std::string data(std::string_view text);

/// A comment of its own, which every client skips.
std::string comment(std::string_view text);

/// The event `error`: comments joined by " -- " (none: "unspecified error"), as a comment, and the data.
std::string error(const std::vector<std::string>& comments, std::string_view json);

/// The last frame of a stream, whether it succeeded or ended in an error.
constexpr std::string_view done = "data: [DONE]\n\n";

/// The headers of a stream, without its content type.
constexpr std::string_view content_type = "text/event-stream; charset=utf-8";

} // namespace etna::server::sse

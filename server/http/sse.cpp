#include "server/http/sse.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server {
namespace sse {
namespace {

/// Adds `name: line` for every line of the text; CR, LF and CRLF are all line ends, as for the client.
void add_lines(std::string& frame, std::string_view name, std::string_view text) {
    while (true) {
        const std::size_t end = text.find_first_of("\r\n");
        frame += fmt::format("{}: {}\n", name, text.substr(0, end));
        if (end == std::string_view::npos)
            return;
        text.remove_prefix(end + (text.substr(end, 2) == "\r\n" ? 2 : 1));
    }
}

/// For fields that must stay on one line.
std::string one_line(std::string_view text) {
    std::string line(text);
    std::erase_if(line, [](char letter) { return letter == '\r' || letter == '\n' || letter == '\0'; });
    return line;
}

} // namespace

std::string write(const Frame& frame) {
    std::string bytes;
    if (!frame.event.empty())
        bytes += fmt::format("event: {}\n", one_line(frame.event));
    if (!frame.id.empty())
        bytes += fmt::format("id: {}\n", one_line(frame.id));
    if (frame.retry_ms)
        bytes += fmt::format("retry: {}\n", *frame.retry_ms);
    for (const std::string& comment : frame.comments)
        add_lines(bytes, "", comment);
    if (frame.data) {
        add_lines(bytes, "data", *frame.data);
    } else if (!frame.event.empty()) {
        bytes += "data: null\n";
    }
    return bytes + "\n";
}

std::string data(std::string_view text) {
    return write({.data = std::string(text)});
}

std::string error(const std::vector<std::string>& comments, std::string_view json) {
    const std::string problem =
        comments.empty() ? "unspecified error" : fmt::format("{}", fmt::join(comments, " -- "));
    return write({.data = std::string(json), .event = "error", .comments = {problem}});
}

} // namespace sse

bool EventStream::send(std::string_view frames) {
    is_disconnected_ = is_disconnected_ || !writer_->write(frames);
    last_write_ = Clock::now();
    return !is_disconnected_;
}

bool EventStream::is_disconnected() {
    // For a client that has closed its sending half: if it is gone, the second write fails.
    constexpr std::chrono::milliseconds half_closed_probe{200};
    if (is_disconnected_)
        return true;
    const PeerState peer = writer_->peer();
    is_disconnected_ = peer == PeerState::gone;
    const auto probe_interval =
        peer == PeerState::half_closed ? std::min(half_closed_probe, keep_alive_) : keep_alive_;
    if (!is_disconnected_ && Clock::now() - last_write_ >= probe_interval)
        send(keep_alive_frame_);
    return is_disconnected_;
}

} // namespace etna::server

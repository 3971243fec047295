#include "cli/chat/line_reader.hpp"

#include "cli/text_io.hpp"
#include "core/base/utf8.hpp"

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace etna::cli {
namespace {

constexpr std::string_view quotes = "\"\"\"";

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// Removes the quotes at `end` and the line end before them; text after them is part of the message.
void close(std::string& message, std::size_t end) {
    const std::string rest = message.substr(end + quotes.size());
    message.resize(end);
    if (!is_blank(rest)) {
        message += rest;
    } else if (message.ends_with('\n')) {
        message.pop_back();
    }
}

/// Reads the rest of a message after the first line with the opening quotes.
LineReader::Outcome read_rest(LineReader& reader, std::string& message) {
    bool is_too_long = false;
    std::size_t searched = 0; // no quotes begin before this offset
    while (true) {
        if (const std::size_t end = message.find(quotes, searched); end != std::string::npos) {
            close(message, end);
            return is_too_long ? LineReader::Outcome::too_long : LineReader::Outcome::line;
        }
        std::string line;
        const LineReader::Outcome outcome = reader.read("... ", line);
        if (outcome == LineReader::Outcome::interrupted)
            return outcome;
        if (outcome == LineReader::Outcome::end) { // the text typed so far is still a message
            if (is_too_long)
                return LineReader::Outcome::too_long;
            return is_blank(message) ? outcome : LineReader::Outcome::line;
        }
        if (outcome == LineReader::Outcome::too_long || message.size() + line.size() > input_bytes_max) {
            is_too_long = true; // skip up to the closing quotes
            message = std::string();
        }
        if (!message.empty())
            message += '\n';
        searched = message.size();
        message += line;
    }
}

/// Returns the message as it can be typed again, on one or several lines.
std::string typed_form(const TypedMessage& message) {
    const bool needs_quotes = message.kind == TypedMessage::Kind::block && message.text.starts_with('/');
    return needs_quotes ? std::string(quotes) + message.text + std::string(quotes) : message.text;
}

} // namespace

LineReader::Outcome PlainReader::read(std::string_view /*prompt*/, std::string& line) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    constexpr std::size_t block_bytes = 4096;
    constexpr int poll_ms = 100; // a signal delivered to another thread does not interrupt poll()
    std::size_t searched = 0;
    while (true) {
        const std::size_t newline = buffer_.find('\n', searched);
        if (newline != std::string::npos || has_ended_) {
            if (std::exchange(is_too_long_, false)) {
                buffer_.erase(0, newline == std::string::npos ? newline : newline + 1);
                return Outcome::too_long;
            }
            if (!std::exchange(has_read_line_, true) && buffer_.starts_with(byte_order_mark)) {
                buffer_.erase(0, byte_order_mark.size());
                searched = 0;
                continue;
            }
            if (buffer_.empty())
                return Outcome::end;
            line = repaired_utf8(std::string_view(buffer_).substr(0, newline));
            buffer_.erase(0, newline == std::string::npos ? newline : newline + 1);
            if (line.ends_with('\r'))
                line.pop_back();
            return Outcome::line;
        }
        if (end_signal_() != 0)
            return Outcome::end;
        pollfd typed{descriptor_, POLLIN, 0};
        if (::poll(&typed, 1, poll_ms) <= 0)
            continue;
        if (buffer_.size() > input_bytes_max) {
            is_too_long_ = true;
            buffer_ = std::string();
        }
        searched = buffer_.size();
        std::array<char, block_bytes> block;
        const ssize_t count = ::read(descriptor_, block.data(), block.size());
        if (count > 0)
            buffer_.append(block.data(), static_cast<std::size_t>(count));
        has_ended_ = count == 0 || (count < 0 && errno != EINTR);
    }
}

LineReader::Outcome read_message(LineReader& reader, TypedMessage& message) {
    while (true) {
        message.kind = TypedMessage::Kind::line;
        const LineReader::Outcome outcome = reader.read(">>> ", message.text);
        if (outcome != LineReader::Outcome::line)
            return outcome;
        if (message.text.starts_with(quotes)) {
            message.kind = TypedMessage::Kind::block;
            message.text.erase(0, quotes.size());
            const LineReader::Outcome rest = read_rest(reader, message.text);
            if (rest != LineReader::Outcome::line)
                return rest;
        }
        if (!is_blank(message.text)) {
            reader.remember(typed_form(message));
            return LineReader::Outcome::line;
        }
    }
}

} // namespace etna::cli

#include "cli/chat/message_reader.hpp"

#include "cli/prompt.hpp"

#include <string_view>

namespace etna::cli {
namespace {

constexpr std::string_view quotes = "\"\"\"";

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// Removes the quotes at `end` and the line end before them; text after them is part of the message.
void close(std::string& message, std::size_t end) {
    const std::string behind = message.substr(end + quotes.size());
    message.resize(end);
    if (!is_blank(behind)) {
        message += behind;
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

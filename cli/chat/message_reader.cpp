#include "cli/chat/message_reader.hpp"

#include <string_view>

namespace etna::cli {
namespace {

constexpr std::string_view quotes = "\"\"\"";

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// The rest of a message whose first line has come, after the opening quotes.
LineReader::Outcome read_rest(LineReader& reader, std::string& message) {
    while (true) {
        if (const std::size_t end = message.find(quotes); end != std::string::npos) {
            message.resize(end);
            if (message.ends_with('\n'))
                message.pop_back();
            return LineReader::Outcome::line;
        }
        std::string line;
        const LineReader::Outcome outcome = reader.read("... ", line);
        if (outcome == LineReader::Outcome::interrupted)
            return outcome;
        if (outcome == LineReader::Outcome::end) // what was typed is a message all the same
            return is_blank(message) ? outcome : LineReader::Outcome::line;
        if (!message.empty())
            message += '\n';
        message += line;
    }
}

} // namespace

LineReader::Outcome read_message(LineReader& reader, std::string& message) {
    while (true) {
        const LineReader::Outcome outcome = reader.read(">>> ", message);
        if (outcome != LineReader::Outcome::line)
            return outcome;
        if (message.starts_with(quotes)) {
            message.erase(0, quotes.size());
            const LineReader::Outcome rest = read_rest(reader, message);
            if (rest != LineReader::Outcome::line)
                return rest;
        }
        if (!is_blank(message)) {
            reader.remember(message);
            return LineReader::Outcome::line;
        }
    }
}

} // namespace etna::cli

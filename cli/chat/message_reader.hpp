#pragma once

#include "cli/chat/line_reader.hpp"

#include <cstdint>
#include <string>

namespace etna::cli {

/// A typed message: a line, or the lines between two `"""`, which are never a command.
struct TypedMessage {
    enum class Kind : uint8_t { line, block };
    Kind kind = Kind::line;
    std::string text = {};
};

/// Reads the next message. Skips empty lines and discards a message interrupted in the middle. Blocking.
LineReader::Outcome read_message(LineReader& reader, TypedMessage& message);

} // namespace etna::cli

#pragma once

#include "cli/chat/line_reader.hpp"

#include <cstdint>
#include <string>

namespace etna::cli {

/// What was typed: a line, or the lines between two `"""`, which are never a command.
struct TypedMessage {
    enum class Kind : uint8_t { line, block };
    Kind kind = Kind::line;
    std::string text = {};
};

/// The next message. Empty lines are passed over. Of what is broken off in the middle nothing is kept.
/// Blocking.
LineReader::Outcome read_message(LineReader& reader, TypedMessage& message);

} // namespace etna::cli

#pragma once

#include "cli/chat/line_reader.hpp"

#include <string>

namespace etna::cli {

/// The next message: a line, or the lines between two `"""`. Empty lines are passed over. Of what is broken
/// off in the middle nothing is kept. Blocking.
LineReader::Outcome read_message(LineReader& reader, std::string& message);

} // namespace etna::cli

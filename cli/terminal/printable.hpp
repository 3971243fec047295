#pragma once

#include <string>
#include <string_view>

namespace etna::cli {

// Names, paths, commands and output of models and tools may contain anything: control characters, C1
// included, and bidirectional formatting characters could change the user's terminal or the apparent text.

/// Returns all of `text` on one line: such characters, newlines, tabs and bytes that are not UTF-8 are
/// escaped as \x1b, \x0a, \u202e.
std::string printable(std::string_view text);

/// Returns `text` with each of them replaced by U+FFFD; newlines and tabs are unchanged.
std::string harmless(std::string_view text);

} // namespace etna::cli

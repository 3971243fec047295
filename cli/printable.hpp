#pragma once

#include <string>
#include <string_view>

namespace etna::cli {

// Names, paths, commands and what models and tools write may hold anything: control characters, C1's too, and
// marks that turn the direction of writing would change the user's terminal, or what it seems to say.

/// `text` on one line, whole: such characters, newlines and tabs too, and bytes that are no UTF-8 come as
/// \x1b, \x0a, \u202e.
std::string printable(std::string_view text);

/// `text` with U+FFFD in the place of each; newlines and tabs stay.
std::string harmless(std::string_view text);

} // namespace etna::cli

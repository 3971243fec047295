#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace etna::chat::jinja {

/// Appends what a string literal of a template says, which stands between quotes as `raw`: Python's escapes,
/// except for characters by their names. Two escapes that are the halves of one character (as JSON writes it)
/// become that character. Gives the place of the first escape that cannot be read.
std::optional<std::size_t> append_unescaped(std::string& out, std::string_view raw);

} // namespace etna::chat::jinja

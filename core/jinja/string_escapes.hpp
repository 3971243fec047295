#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace etna::jinja {

/// Appends the value of a string literal with content `raw`: resolves Python's escapes, except those by
/// character name. Two escapes that form a surrogate pair, as in JSON, become one character. Returns the
/// offset of the first invalid escape.
std::optional<std::size_t> append_unescaped(std::string& out, std::string_view raw);

} // namespace etna::jinja

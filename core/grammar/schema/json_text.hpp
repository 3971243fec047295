#pragma once

#include "core/grammar/code_points.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

/// Parts of JSON texts in a canonical notation: a character within a string is written literally, and a
/// character that must be escaped has one escape. Sets of strings can therefore be intersected or joined as
/// sets of JSON texts. Source: RFC 8259, section 7.
namespace etna::grammar {

/// White space between the tokens of a JSON text.
enum class JsonSpacing : uint8_t {
    none,
    single, ///< at most one space or newline
    any,    ///< a space, or a newline with up to json_indentation_max spaces or tabs
};
/// The names of the values, in their order.
constexpr std::array<std::string_view, 3> json_spacings = {"compact", "single", "any"};
constexpr uint32_t json_indentation_max = 64;

/// White space that may contain a newline, and white space after a colon.
Expression json_space(Language& language, JsonSpacing spacing);
Expression json_space_after_colon(Language& language, JsonSpacing spacing);

/// One character of a JSON string, as written between the quotes.
Expression json_character(Language& language, const CodePoints& set);

/// A text (valid UTF-8) as written between the quotes.
std::string json_escaped(std::string_view text);

} // namespace etna::grammar

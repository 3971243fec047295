#pragma once

#include "core/grammar/code_points.hpp"

#include <cstdint>
#include <string>
#include <string_view>

/// Pieces of JSON texts as they are written in one way only: a character within a string stands for itself,
/// and what must be escaped has one escape. So two sets of strings can be cut or joined as sets of JSON
/// texts. Source: RFC 8259, section 7.
namespace etna::grammar {

/// White space between the tokens of a JSON text.
enum class JsonSpacing : uint8_t {
    none,
    bounded, ///< a blank, or a line's end with up to json_indentation_max blanks or tabs
};
constexpr uint32_t json_indentation_max = 64;

/// White space where a line may end, and after a colon.
Expression json_space(Language& language, JsonSpacing spacing);
Expression json_space_after_colon(Language& language, JsonSpacing spacing);

/// One character of a JSON string, as it stands between the quotes.
Expression json_character(Language& language, const CodePoints& set);

/// A text (valid UTF-8) as it stands between the quotes.
std::string json_escaped(std::string_view text);

} // namespace etna::grammar

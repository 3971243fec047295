#pragma once

#include "core/grammar/code_points.hpp"

#include <string>
#include <string_view>

/// Pieces of JSON texts as they are written in one way only: a character within a string stands for itself,
/// and what must be escaped has one escape. So two sets of strings can be cut or joined as sets of JSON
/// texts. Source: RFC 8259, section 7.
namespace etna::grammar {

/// One character of a JSON string, as it stands between the quotes.
Expression json_character(Language& language, const CodePoints& set);

/// A text (valid UTF-8) as it stands between the quotes.
std::string json_escaped(std::string_view text);

} // namespace etna::grammar

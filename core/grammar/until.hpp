#pragma once

#include "core/base/token.hpp"
#include "core/grammar/language.hpp"

#include <span>
#include <string>
#include <string_view>

namespace etna::grammar {

/// What control tokens stand for, as no text has it: a byte that UTF-8 does not know, then the token's
/// number.
constexpr uint8_t control_byte = 0xFF;

/// What a control token stands for in a vocabulary.
std::string control_text(TokenId token);

/// Bytes without control_byte that end with the first `mark` in them. Precondition: a mark. Source: Knuth,
/// Morris, Pratt, Fast pattern matching in strings (1977).
Expression until(Language& language, std::string_view mark);

/// Bytes without control_byte, and without any of `marks` in them. Errors: unsupported (too many marks).
/// Precondition: none of them is empty.
Result<Automaton> without(std::span<const std::string> marks);

} // namespace etna::grammar

#pragma once

#include "core/grammar/language.hpp"

#include <string_view>

namespace etna::grammar {

/// What control tokens stand for, as no text has it: a byte that UTF-8 does not know, then the token's
/// number.
constexpr uint8_t control_byte = 0xFF;

/// Bytes without control_byte that end with the first `mark` in them. Precondition: a mark. Source: Knuth,
/// Morris, Pratt, Fast pattern matching in strings (1977).
Expression until(Language& language, std::string_view mark);

/// Bytes without control_byte, and without `mark` in them.
Expression without(Language& language, std::string_view mark);

} // namespace etna::grammar

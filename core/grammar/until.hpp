#pragma once

#include "core/base/token.hpp"
#include "core/grammar/language.hpp"

#include <span>
#include <string>
#include <string_view>

namespace etna::grammar {

/// First byte of a control token's text; the token's number follows. UTF-8 never contains this byte.
constexpr uint8_t control_byte = 0xFF;

/// The bytes of a control token in a vocabulary.
std::string control_text(TokenId token);

/// Bytes without control_byte that end with the first occurrence of `mark`. Precondition: `mark` is not
/// empty. Source: Knuth, Morris, Pratt, Fast pattern matching in strings (1977).
Expression until(Language& language, std::string_view mark);

/// Bytes without control_byte and without any of `marks`. Errors: unsupported (too many marks). Precondition:
/// no mark is empty.
Result<Automaton> without(std::span<const std::string> marks);

} // namespace etna::grammar

#pragma once

#include "core/base/result.hpp"
#include "core/jinja/ast.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace etna::jinja {

enum class TokenType : uint8_t {
    data,
    block_begin,
    block_end,
    variable_begin,
    variable_end,
    name,
    string,
    integer,
    real,
    sign, ///< the operator or bracket in `text`
    end,
};

struct Token {
    TokenType type = TokenType::end;
    Position at = {};
    std::string text = {}; ///< data, name, sign, or unescaped content of a string
    Value number = {};
};

/// Returns a syntax error at a position.
Error syntax_error(Position at, std::string_view message);

/// Returns the error for a part of Jinja or Python that etna leaves out: the `kind` (tag, filter, operator,
/// number, ...) named `name`.
Error refusal(Position at, std::string_view kind, std::string_view name);

/// Splits a template into tokens as Jinja's lexer does with trim_blocks and lstrip_blocks on and
/// keep_trailing_newline off; comments and raw blocks are resolved. The last token is `end`. Error: corrupt
/// (unknown character, unbalanced bracket, unclosed comment or string, refused number).
Result<std::vector<Token>> tokenize(std::string_view source);

/// "line L, column C"
std::string to_string(Position at);

} // namespace etna::jinja

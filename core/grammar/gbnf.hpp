#pragma once

#include "core/grammar/language.hpp"

#include <string_view>

namespace etna::grammar {

/// The texts of a grammar in GBNF, from its rule `root` on; sealed. UTF-8.
///
///     root  ::= item ("," item)*     # alternatives with |, groups, * + ? {2} {2,} {2,5}
///     item  ::= [a-z_]+ | "\"" [^"\n]* "\"" | .
///
/// Source: llama.cpp, grammars/README.md. Rules may not begin with themselves.
/// Errors: invalid_argument (no GBNF, with line and column; a rule that is named and not there, or there
/// twice; no text fits), unsupported (a rule that begins with itself, by name; too large).
Result<Expression> gbnf(Language& language, std::string_view text);

} // namespace etna::grammar

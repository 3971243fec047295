#pragma once

#include "core/grammar/language.hpp"

#include <string_view>

namespace etna::grammar {

/// The texts of a GBNF grammar, from its rule `root`; sealed. UTF-8.
///
///     root  ::= item ("," item)*     # alternatives with |, groups, * + ? {2} {2,} {2,5}
///     item  ::= [a-z_]+ | "\"" [^"\n]* "\"" | .
///
/// Source: llama.cpp, grammars/README.md. Left recursion is not supported.
/// Errors: invalid_argument (not GBNF, with line and column; a rule that is undefined, or defined twice; no
/// text fits), unsupported (a left-recursive rule, by name; too large).
Result<Expression> gbnf(Language& language, std::string_view text);

} // namespace etna::grammar

#pragma once

#include "core/grammar/language.hpp"
#include "core/grammar/regex.hpp"

#include <string_view>

namespace etna::grammar {

/// The texts of a grammar in Lark's notation, from its rule `start`; sealed. UTF-8.
///
///     start: "SELECT"i NAME ("," NAME)* [where]     // lower-case rules, upper-case terminals
///     where: "WHERE" NAME "=" (NUMBER | ESCAPED_STRING)
///     NAME: /[a-z_]+/
///     %import common (NUMBER, ESCAPED_STRING, WS)
///     %ignore WS
///
/// Ignored texts may come before and after every terminal of a rule. Left recursion is not supported;
/// terminals are not chosen by length or priority: any parse is accepted. Sources: Lark 1.2, Grammar
/// Reference and grammars/common.lark; the subset is that of OpenAI's custom tools (regular expressions
/// without lookaround, no templates, imports of `common` only). Errors: invalid_argument (not such a grammar,
/// with line and column; a name that is undefined, or defined twice; no text fits), unsupported (templates,
/// %declare, other imports, flags of regular expressions other than i and u; a left-recursive rule, by name;
/// too large).
Result<Expression> lark(Language& language, std::string_view text);

/// The same with characters encoded by `alphabet`, and with its rules not sealed, so that it can be part of a
/// larger expression. Errors: those of lark(), except those of seal().
Result<Expression> lark_rules(Language& language, std::string_view text, const Alphabet& alphabet);

/// Whether the text of a grammar is more likely Lark than GBNF.
bool looks_like_lark(std::string_view text);

} // namespace etna::grammar

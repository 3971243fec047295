#pragma once

#include "core/grammar/language.hpp"
#include "core/grammar/regex.hpp"

#include <string_view>

namespace etna::grammar {

/// The texts of a grammar in Lark's notation, from its rule `start` on; sealed. UTF-8.
///
///     start: "SELECT"i NAME ("," NAME)* [where]     // rules are small, terminals large letters
///     where: "WHERE" NAME "=" (NUMBER | ESCAPED_STRING)
///     NAME: /[a-z_]+/
///     %import common (NUMBER, ESCAPED_STRING, WS)
///     %ignore WS
///
/// What is ignored may stand before and behind every terminal of a rule. Rules may not begin with themselves;
/// terminals are not chosen by length or priority: any reading that fits will do. Sources: Lark 1.2, Grammar
/// Reference and grammars/common.lark; the subset is that of OpenAI's custom tools (regular expressions
/// without lookaround, no templates, imports of `common` only). Errors: invalid_argument (no such grammar,
/// with line and column; a name that is not there, or there twice; no text fits), unsupported (templates,
/// %declare, other imports, flags of regular expressions other than i and u; a rule that begins with itself,
/// by name; too large).
Result<Expression> lark(Language& language, std::string_view text);

/// The same with characters written by `alphabet`, and with its rules not sealed, so that it can be a part of
/// something else. Errors: those of lark(), but for what seal() finds.
Result<Expression> lark_rules(Language& language, std::string_view text, const Alphabet& alphabet);

/// Whether a text that is a grammar is rather Lark's than GBNF.
bool looks_like_lark(std::string_view text);

} // namespace etna::grammar

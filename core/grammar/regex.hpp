#pragma once

#include "core/grammar/code_points.hpp"

#include <functional>
#include <string_view>

namespace etna::grammar {

/// Encodes one character out of a set, such as utf8() or json_character().
using Alphabet = std::function<Expression(const CodePoints&)>;

enum class MatchMode : uint8_t {
    full,   ///< the complete text must match
    search, ///< some part must match; `^` and `$` anchor it to the ends
};

/// The texts that an ECMAScript regular expression matches (ECMA-262, 22.2, with the flag `u`, except that
/// letters may be escaped needlessly). Lazy quantifiers match the same texts as greedy ones. Errors:
/// invalid_argument (not a regular expression; with the position), unsupported (assertions other than `^` and
/// `$` at the ends of alternatives, back references, Unicode properties; with name and position).
Result<Expression> regex(Language& language, std::string_view pattern, const Alphabet& alphabet,
                         MatchMode mode);

} // namespace etna::grammar

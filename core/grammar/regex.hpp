#pragma once

#include "core/grammar/code_points.hpp"

#include <functional>
#include <string_view>

namespace etna::grammar {

/// How one character out of a set is written, such as utf8() or json_character().
using Alphabet = std::function<Expression(const CodePoints&)>;

enum class Place : uint8_t {
    whole,    ///< the whole text has to match
    anywhere, ///< some part of it has to: `^` and `$` bind it to the ends
};

/// The texts that a regular expression of ECMAScript matches (ECMA-262, 22.2, with the flag `u`, but that
/// letters may be escaped without need). Lazy quantifiers match the same texts as greedy ones. Errors:
/// invalid_argument (no regular expression; names the place), unsupported (assertions other than `^` and `$`
/// at the ends of alternatives, back references, Unicode properties; by name and place).
Result<Expression> regex(Language& language, std::string_view pattern, const Alphabet& alphabet, Place place);

} // namespace etna::grammar

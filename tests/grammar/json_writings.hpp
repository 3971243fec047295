#pragma once

#include "core/grammar/language.hpp"
#include "core/grammar/schema/json_value.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace etna::grammar {

struct FittingText {
    std::optional<std::string> text = {}; ///< that is in the language
    bool is_whole = true;                 ///< all were tried; otherwise there may be one where none was found
};

/// A text of a JSON value that a language has. It has one way to write a value, but for the order of members
/// and numbers. Members are tried in an order that leaves all others possible, then in every order, as long
/// as that takes at most `looks_max` looks at one; numbers are written as plain digits, such as 1 for 1.0 and
/// 1e0.
FittingText fitting_text(Language& language, Expression root, const JsonValue& value,
                         std::size_t looks_max = 20'000);

} // namespace etna::grammar

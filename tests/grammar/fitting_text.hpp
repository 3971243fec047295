#pragma once

#include "core/grammar/language.hpp"
#include "core/grammar/schema/json_value.hpp"

#include <cstddef>
#include <optional>
#include <string>

namespace etna::grammar {

struct FittingText {
    std::optional<std::string> text = {}; ///< empty if none was found
    bool is_exhaustive = true; ///< all orders were tried; otherwise a text may exist although none was found
};

/// Returns a text of a JSON value that is in a language. Only the order of members and the notation of
/// numbers can vary. Members are tried in an order that leaves all others possible, then in every order,
/// within `visits_max` visits of a member; numbers are plain digits, such as 1 for 1.0 and 1e0.
FittingText fitting_text(Language& language, Expression root, const JsonValue& value,
                         std::size_t visits_max = 20'000);

} // namespace etna::grammar

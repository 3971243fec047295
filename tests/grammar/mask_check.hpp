#pragma once

#include "core/grammar/masks.hpp"

#include <vector>

namespace etna::test {

/// Requires of a state's mask what asking for each token by itself says, and gives those that fit.
std::vector<TokenId> check_mask(grammar::Language& language, grammar::Masks& masks,
                                const grammar::Vocabulary& vocabulary, grammar::Expression state);

} // namespace etna::test

#pragma once

#include "core/grammar/masks.hpp"

#include <vector>

namespace etna::test {

/// Requires that a state's mask agrees with each token alone. Returns the tokens that fit.
std::vector<TokenId> check_mask(grammar::Language& language, grammar::Masks& masks,
                                const grammar::Vocabulary& vocabulary, grammar::Expression state);

} // namespace etna::test

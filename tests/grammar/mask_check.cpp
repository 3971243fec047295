#include "tests/grammar/mask_check.hpp"

#include "tests/support/catch.hpp"

namespace etna::test {

std::vector<TokenId> check_mask(grammar::Language& language, grammar::Masks& masks,
                                const grammar::Vocabulary& vocabulary, grammar::Expression state) {
    const grammar::TokenMask mask = masks.mask(state);
    std::vector<TokenId> fitting;
    for (TokenId token = 0; token < vocabulary.size(); ++token) {
        const std::string_view bytes = vocabulary.bytes(token);
        const bool fits = !bytes.empty() && language.next(state, bytes) != grammar::nothing;
        CAPTURE(token, bytes);
        REQUIRE(mask.allows(token) == fits);
        if (fits)
            fitting.push_back(token);
    }
    return fitting;
}

} // namespace etna::test

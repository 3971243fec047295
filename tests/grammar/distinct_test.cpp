// Lists of different items against comparing them, over random items and all short texts; and their masks.

#include "core/grammar/masks.hpp"
#include "tests/grammar/mask_check.hpp"
#include "tests/grammar/random_grammar.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::grammar;

namespace {

std::vector<std::string> texts_with_commas(std::size_t length) {
    std::vector<std::string> all = {""};
    for (std::size_t at = 0; at < all.size(); ++at) {
        if (all[at].size() == length)
            break;
        for (const char letter : {'a', 'b', ','})
            all.push_back(all[at] + letter);
    }
    return all;
}

std::vector<std::string> items_of(const std::string& text) {
    std::vector<std::string> items = {""};
    for (const char letter : text) {
        if (letter == ',')
            items.emplace_back();
        else
            items.back() += letter;
    }
    return items;
}

Expression random_item(Language& language, std::mt19937& random) {
    return language.accepted(
        language.automaton(test::built(language, test::random_regular(random, 3))).value());
}

} // namespace

TEST_CASE("lists of distinct items repeat no item, and every state can reach an end") {
    std::mt19937 random(3);
    const auto texts = texts_with_commas(6);
    std::size_t accepted = 0;
    std::size_t cut = 0;
    for (int round = 0; round < 200; ++round) {
        Language language;
        const Expression item = random_item(language, random);
        const auto min = static_cast<uint32_t>(random() % 4);
        const uint32_t max = random() % 2 == 0 ? unbounded : min + static_cast<uint32_t>(random() % 4);
        const Expression lists = language.distinct(item, language.literal(","), min, max).value();
        for (const std::string& text : texts) {
            const auto items = items_of(text);
            const std::set<std::string> different(items.begin(), items.end());
            const auto is_item = [&](const std::string& one) {
                return language.is_nullable(language.next(item, one));
            };
            const bool is_list = item != nothing && std::all_of(items.begin(), items.end(), is_item) &&
                                 items.size() >= min && items.size() <= max;
            const bool is_no_list = text.empty() && min == 0;
            const bool is_expected = is_no_list || (is_list && different.size() == items.size());
            const Expression left = language.next(lists, text);
            CAPTURE(round, text, min, max);
            REQUIRE((left == nothing ? false : language.is_nullable(left)) == is_expected);
            REQUIRE((left == nothing || test::can_end(language, left, 16, "ab,")));
            accepted += is_expected ? 1 : 0;
            cut += is_list && !is_expected ? 1 : 0;
        }
    }
    CHECK(accepted > 1000);
    CHECK(cut > 1000);
}

TEST_CASE("masks of lists of distinct items agree with each token alone") {
    std::mt19937 random(23);
    std::size_t states = 0;
    for (int round = 0; round < 80; ++round) {
        std::vector<std::string> tokens = {"", "a", "b", ",", "]", "]]", ",a", "b,", "a,b,a"};
        for (int i = 0; i < 200; ++i) {
            std::string token;
            for (std::size_t length = 1 + random() % (i % 20 == 0 ? 45 : 5); token.size() < length;)
                token += "aaabbb,,,]"[random() % (i % 3 == 0 ? 10 : 8)];
            tokens.push_back(token);
        }
        const Vocabulary vocabulary(tokens);
        Language language;
        Masks masks(language, vocabulary);
        Expression item = random_item(language, random);
        if (round % 3 == 0)
            item = language.repeat(language.bytes(ByteSet::range('a', 'b')), 1);
        const auto min = static_cast<uint32_t>(random() % 3);
        const uint32_t max = random() % 2 == 0 ? unbounded : min + static_cast<uint32_t>(random() % 4);
        const Expression lists = language.distinct(item, language.literal(","), min, max).value();
        const Expression other = language.literal("aab]");
        Expression state = language.either(other, language.sequence(lists, language.literal("]")));
        for (int steps = 0; state != nothing && steps < 12; ++steps) {
            CAPTURE(round, min, max);
            const std::vector<TokenId> allowed = test::check_mask(language, masks, vocabulary, state);
            ++states;
            state = allowed.empty()
                        ? nothing
                        : language.next(state, vocabulary.bytes(allowed[random() % allowed.size()]));
        }
    }
    CHECK(states > 250);
}

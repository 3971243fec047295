// Masks against a check of each token alone, over random languages and vocabularies.

#include "core/grammar/automaton.hpp"
#include "core/grammar/masks.hpp"
#include "core/grammar/schema/json_schema.hpp"
#include "core/grammar/schema/json_text.hpp"
#include "tests/grammar/mask_check.hpp"
#include "tests/grammar/random_grammar.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <string>

using namespace etna;
using namespace etna::grammar;

namespace {

/// Short tokens and some of up to `longest` bytes; some twice, some without bytes, some that no text has.
std::vector<std::string> random_vocabulary(std::mt19937& random, std::size_t longest) {
    std::vector<std::string> tokens = {"a", "b", "", "ab", "ab", "c", "abc"};
    for (int i = 0; i < 200; ++i) {
        const std::size_t length =
            1 + random() % (random() % 10 == 0 ? longest : std::min<std::size_t>(longest, 6));
        std::string token;
        while (token.size() < length)
            token += random() % 20 == 0 ? 'c' : random() % 2 == 0 ? 'a' : 'b';
        tokens.push_back(token);
    }
    return tokens;
}

/// The state after a text, in the sealed language of the rules.
Expression state_after(Language& language, const test::Descriptions& rules, const std::string& text) {
    const auto root = language.seal(test::built(language, rules));
    return root ? language.next(*root, text) : nothing;
}

} // namespace

TEST_CASE("a token tree contains every token, and shares prefixes") {
    std::mt19937 random(2);
    const auto bytes = random_vocabulary(random, 50);
    std::vector<std::pair<std::string_view, TokenId>> tokens;
    for (TokenId token = 0; token < bytes.size(); ++token)
        tokens.emplace_back(bytes[token], token);
    const TokenTree tree(tokens);
    std::set<std::string> first_parts;
    for (const std::string& one : bytes) {
        for (std::size_t i = 1; i <= one.size(); ++i)
            first_parts.insert(one.substr(0, i));
    }
    CHECK(tree.size() == first_parts.size());
    std::vector<TokenId> seen;
    std::string path;
    for (uint32_t node = 0; node < tree.size(); ++node) {
        path.resize(tree.depth(node) - 1);
        path += static_cast<char>(tree.byte(node));
        CHECK(first_parts.contains(path));
        CHECK((tree.end(node) > node && tree.end(node) <= tree.size()));
        for (const TokenId token : tree.tokens(node)) {
            CHECK(bytes[token] == path);
            seen.push_back(token);
        }
    }
    std::sort(seen.begin(), seen.end());
    CHECK(seen.size() == bytes.size() - 1); // one is empty
    CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end());
    CHECK(TokenTree(std::vector<std::pair<std::string_view, TokenId>>()).size() == 0);
}

TEST_CASE("masks agree with each token alone") {
    std::mt19937 random(17);
    int states = 0;
    for (int round = 0; round < 150; ++round) {
        const test::Descriptions rules = test::random_rules(random, 1 + random() % 3);
        const Vocabulary vocabulary(random_vocabulary(random, 10)); // ambiguous languages grow with the text
        for (const std::string& text : test::all_texts(3)) {
            Language language;
            Masks masks(language, vocabulary);
            const Expression state = state_after(language, rules, text);
            CAPTURE(round, text);
            test::check_mask(language, masks, vocabulary, state);
            states += state == nothing ? 0 : 1;
        }
    }
    CHECK(states > 300);
}

TEST_CASE("masks of within() agree with each token alone") {
    std::mt19937 random(19);
    int states = 0;
    for (int round = 0; round < 60; ++round) {
        const test::Descriptions rules = test::random_rules(random, 1 + random() % 3);
        const Vocabulary vocabulary(random_vocabulary(random, 10));
        Language language;
        Masks masks(language, vocabulary);
        const auto left_out = language.automaton(test::built(language, test::random_regular(random, 3)));
        const auto within = language.within(test::built(language, rules), complement(*left_out).value());
        const auto root = language.seal(language.sequence(*within, language.literal("abc")));
        for (const std::string& text : test::all_texts(3)) {
            const Expression state = root ? language.next(*root, text) : nothing;
            CAPTURE(round, text);
            test::check_mask(language, masks, vocabulary, state);
            states += state == nothing ? 0 : 1;
        }
    }
    CHECK(states > 100);
}

TEST_CASE("masks of many simultaneous alternatives agree with each token alone") {
    std::mt19937 random(31);
    const auto ends = test::all_texts(3);
    int states = 0;
    for (int round = 0; round < 20; ++round) {
        const Vocabulary vocabulary(random_vocabulary(random, 40));
        Language language;
        Masks masks(language, vocabulary);
        std::vector<Expression> alternatives;
        for (int alternative = 0; alternative < 40;
             ++alternative) { // a loop with its own end, or any rules, as a unit or not
            const Expression loop = language.rule("loop");
            const std::string& end = ends[random() % ends.size()];
            language.define(loop, language.either(language.sequence(language.literal("a"), loop),
                                                  language.literal("b" + end)));
            const Expression more = test::built(language, test::random_regular(random, 2));
            alternatives.push_back(
                language.sequence(alternative % 5 == 0 ? language.unit(more) : more, loop));
        }
        const auto root = language.seal(language.either(alternatives));
        REQUIRE(root);
        for (const std::string& text : test::all_texts(3)) {
            const Expression state = language.next(*root, text);
            CAPTURE(round, text);
            for (int again = 0; again < 2; ++again) // computed, then cached
                test::check_mask(language, masks, vocabulary, state);
            states += state == nothing ? 0 : 1;
        }
    }
    CHECK(states > 100);
}

TEST_CASE("incomplete masks are not cached") {
    std::mt19937 random(37);
    const Vocabulary vocabulary(random_vocabulary(random, 40));
    for (const char* const schema :
         {R"({"type": "string", "maxLength": 9})", R"({"enum": ["ab", "ba", "c"]})",
          R"({"properties": {"a": {}, "b": {}}})"}) {
        for (uint64_t steps = 0; steps < 3000; steps += 1 + steps / 5) {
            Language language;
            Masks masks(language, vocabulary);
            const Expression root = json_schema(language, schema, {}).value();
            const Expression state = language.next(root, "{\"");
            for (const Expression at : {root, state == nothing ? language.next(root, "\"") : state}) {
                language.set_step_budget(steps);
                static_cast<void>(masks.mask(at));
                language.set_step_budget(UINT64_MAX);
                CAPTURE(schema, steps);
                test::check_mask(language, masks, vocabulary, at);
            }
        }
    }
}

TEST_CASE("masks of bounded strings are right at each length, and share their heads") {
    std::mt19937 random(23);
    auto tokens = random_vocabulary(random, 50);
    for (const char* more :
         {"\"", "a\"", "\",", "ab\",a", "\"]", "\xC3", "\xC3\xA9", "\\n", "\\", "n\"", "\xE2\x82\xAC\"]"})
        tokens.emplace_back(more);
    const Vocabulary vocabulary(tokens);
    Language language;
    Masks masks(language, vocabulary);
    const Expression any = json_character(language, CodePoints::all());
    const Expression quote = language.literal("\"");
    for (const uint32_t max : {0U, 1U, 5U, 31U, 32U, 33U, 34U, 70U, unbounded}) {
        const Expression text = language.sequence(language.repeat(any, std::min(max, 2U), max), quote);
        const Expression string = language.sequence(quote, language.unit(text));
        const Expression list = language.sequence(std::array{
            language.literal("["), string,
            language.repeat(language.sequence(language.literal(","), string), 0, 2), language.literal("]")});
        Expression state = language.seal(list).value();
        for (const char byte : std::string("[\"" + std::string(std::min(max, 75U), 'a') + "\"]")) {
            CAPTURE(max);
            test::check_mask(language, masks, vocabulary, state);
            state = language.next(state, static_cast<uint8_t>(byte));
        }
    }
    CHECK(!language.is_full());
}

TEST_CASE("masks of plain text agree with each token alone, next to any alternative") {
    std::mt19937 random(29);
    const std::vector<std::string> pieces = {"a",  "b", "na",   "me", "\xC3\xA9", "\xC3", "\xE2\x82", "\xAC",
                                             "\"", ":", " ",    "\\", "n",        "\n",   "{",        "}",
                                             ",",  "1", "\x7F", "[",  "\xF0\x9F", "\x98", "\x80",     "]"};
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte)
        tokens.emplace_back(1, static_cast<char>(byte));
    for (int i = 0; i < 1200; ++i) {
        std::string token;
        for (uint32_t count = 1 + random() % 4; count > 0; --count)
            token += pieces[random() % pieces.size()];
        tokens.push_back(token);
    }
    const Vocabulary vocabulary(tokens);
    const std::vector<std::pair<std::string, std::string>> cases = {
        {R"({"properties": {"name": {}, "nam": {"type": "string"}, "b": {"maximum": 1}}})",
         R"({"name": {"é": 1}, "bna": "naé\nme"})"},
        {R"({"properties": {"é1": {"const": "ab"}, "é": {}}, "additionalProperties": {"maxLength": 3}})",
         R"({"é1": "ab", "a": "na"})"},
        {R"({"patternProperties": {"^na": {"type": "string"}, "me$": {"pattern": "b"}}})",
         R"({"name": "ab"})"},
        {R"({"type": "string", "not": {"enum": ["na", "name", "é"]}})", R"("nameé")"},
        {R"({"type": "string", "minLength": 2, "maxLength": 40})", R"("abnamebé")"}};
    for (const auto& [schema, text] : cases) {
        Language language;
        Masks masks(language, vocabulary);
        Expression state = json_schema(language, schema, {}).value();
        for (const char byte : text) {
            CAPTURE(schema, text);
            test::check_mask(language, masks, vocabulary, state);
            state = language.next(state, static_cast<uint8_t>(byte));
            REQUIRE(state != nothing);
        }
        CHECK(language.is_nullable(state));
    }
}

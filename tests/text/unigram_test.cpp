// SentencePiece's unigram model, and its map of characters.
#include "core/text/unigram.hpp"
#include "tests/support/catch.hpp"
#include "tests/text/small_vocabularies.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

using Names = std::vector<std::string>;

Names names(const SmallVocabulary& vocabulary, std::string_view text,
            text::EncodeOptions options = {.bos = text::AddBos::never}) {
    const auto tokens = require(vocabulary).encode(text, options);
    REQUIRE(tokens);
    Names found;
    for (const TokenId token : *tokens)
        found.push_back(vocabulary.tokens[token]);
    return found;
}

} // namespace

TEST_CASE("the unigram model chooses the tokens with the highest sum of scores") {
    const SmallVocabulary vocabulary = small_unigram();
    CHECK(names(vocabulary, "the") == Names{"\u2581the"});
    CHECK(names(vocabulary, "thehe") == Names{"\u2581the", "he"});
    CHECK(names(vocabulary, "athe") == Names{"\u2581a", "th", "e"}); // -7; t and he are -7.5
    CHECK(names(vocabulary, "aaaa") == Names{"\u2581a", "aaa"});
    CHECK(names(vocabulary, "the  the ") == Names{"\u2581the", "\u2581the"});
    CHECK(names(vocabulary, "   ").empty());
    CHECK(names(vocabulary, "").empty());
}

TEST_CASE("unknown characters become one token") {
    const SmallVocabulary vocabulary = small_unigram();
    CHECK(names(vocabulary, "axyza") == Names{"\u2581a", "<unk>", "a"});
    CHECK(names(vocabulary, "\u5b57\xff") == Names{"\u2581", "<unk>"});
    SmallVocabulary own = vocabulary;
    own.add("xy", text::TokenType::user_defined);
    CHECK(names(own, "axyza") == Names{"\u2581a", "xy", "\u2581", "<unk>", "a"}); // matched before the model
}

TEST_CASE("the file decides which end token a unigram text gets") {
    SmallVocabulary vocabulary = small_unigram();
    CHECK(names(vocabulary, "the", {}) == Names{"\u2581the", "</s>"});
    vocabulary.flags = {{"add_bos_token", true}, {"add_eos_token", true}};
    CHECK(names(vocabulary, "the", {}) == Names{"<s>", "\u2581the", "</s>"});
    vocabulary.flags = {{"remove_extra_whitespaces", false}, {"add_eos_token", false}};
    CHECK(names(vocabulary, "the  the ", {}) == Names{"\u2581the", "\u2581", "\u2581the", "\u2581"});
    vocabulary.flags = {{"add_space_prefix", false}, {"add_eos_token", false}};
    CHECK(names(vocabulary, "the", {}) == Names{"th", "e"});
    vocabulary.scores.clear();
    CHECK(build(vocabulary).error().kind == ErrorKind::corrupt);
}

TEST_CASE("a map of characters replaces the longest match") {
    const auto bytes = character_map_of({{"A", "a"}, {"AB", "the"}, {"\u00e9", "e"}, {"\n", " "}, {"x", ""}});
    const auto map = text::CharacterMap::create(std::as_bytes(std::span(bytes)));
    REQUIRE(map);
    const auto replaced = [&](std::string_view text) {
        const auto match = map->find(text);
        return match ? std::pair(match->bytes, std::string(match->replacement))
                     : std::pair(std::size_t{0}, std::string("none"));
    };
    CHECK(replaced("ABC") == std::pair(std::size_t{2}, std::string("the")));
    CHECK(replaced("AC") == std::pair(std::size_t{1}, std::string("a")));
    CHECK(replaced("\u00e9") == std::pair(std::size_t{2}, std::string("e")));
    CHECK(replaced("x").second.empty());
    CHECK(replaced("B").second == "none");
    CHECK(replaced("\xc3").second == "none");
    CHECK(replaced("").second == "none");
}

TEST_CASE("a damaged map of characters is refused, or matches nothing") {
    const auto made = character_map_of({{"A", "a"}, {"AB", "the"}});
    const auto* const begin = reinterpret_cast<const std::byte*>(made.data());
    const std::vector<std::byte> bytes(begin, begin + made.size());
    for (std::size_t size = 1; size < bytes.size(); size += 7) {
        const auto map = text::CharacterMap::create(ByteView(bytes).first(size));
        if (map)
            (void)map->find("AB");
    }
    CHECK(!text::CharacterMap::create(ByteView(bytes).first(3)));
    CHECK(text::CharacterMap::create({}));
    for (std::size_t at = 4; at < bytes.size(); at += 3) {
        auto wrong = bytes;
        wrong[at] ^= std::byte{0xFF};
        const auto map = text::CharacterMap::create(wrong);
        REQUIRE(map);
        for (const char* text : {"A", "AB", "ABAB", "\xff\xff"})
            (void)map->find(text);
    }
}

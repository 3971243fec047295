// BERT's tokenizer: cleans and lower-cases words, removes accents, and splits greedily from the start.
#include "tests/support/catch.hpp"
#include "tests/text/small_vocabularies.hpp"

#include <string>
#include <string_view>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

using Names = std::vector<std::string>;

Names names(std::string_view text, text::EncodeOptions options = {.bos = text::AddBos::never}) {
    static const SmallVocabulary vocabulary = small_wordpiece();
    static const text::Tokenizer tokenizer = require(vocabulary);
    const auto tokens = tokenizer.encode(text, options);
    REQUIRE(tokens);
    Names found;
    for (const TokenId token : *tokens)
        found.push_back(vocabulary.tokens[token]);
    return found;
}

} // namespace

TEST_CASE("WordPiece takes the longest token from the start of a word") {
    CHECK(names("the") == Names{"\u2581the"});
    CHECK(names("thesing at") == Names{"\u2581the", "s", "ing", "\u2581a", "t"});
    CHECK(names("theb") == Names{"[UNK]"}); // the entire word
    CHECK(names(std::string(100, 'a')).size() == 100);
    CHECK(names(std::string(101, 'a')) == Names{"[UNK]"});
    CHECK(names("").empty());
}

TEST_CASE("WordPiece cleans the text: case, accents, control characters, white space, invalid bytes") {
    CHECK(names("ThE\u0301 T\u00c9") == Names{"\u2581the", "\u2581t", "e"});
    CHECK(names("t\x01h\u200be\xff\ufffd") == Names{"\u2581the"});
    CHECK(names("t\u00a0h\ne\ta") == Names{"\u2581t", "\u2581h", "\u2581e", "\u2581a"});
    CHECK(names("\ud55c") == Names{"\u2581\u1112", "\u1161", "\u11ab"}); // a syllable of Hangul
}

TEST_CASE("WordPiece separates punctuation and ideographs") {
    CHECK(names("a,the") == Names{"\u2581a", "\u2581,", "\u2581the"});
    CHECK(names("a\u5b57t") == Names{"\u2581a", "\u2581\u5b57", "\u2581t"});
    CHECK(names("a$t") == Names{"\u2581a", "[UNK]", "\u2581t"});
    CHECK(names("a\u2019t") == Names{"\u2581a", "[UNK]", "\u2581t"});
}

TEST_CASE("a WordPiece text starts with [CLS] and ends with [SEP]") {
    CHECK(names("the", {}) == Names{"[CLS]", "\u2581the", "[SEP]"});
    CHECK(names("the[SEP]the", {}) == Names{"[CLS]", "\u2581the", "[SEP]", "\u2581the", "[SEP]"});
    CHECK(names("a[SEP]", {.special = text::SpecialTokens::literal, .bos = text::AddBos::never}) ==
          Names{"\u2581a", "[UNK]", "[UNK]", "[UNK]"});
    SmallVocabulary other = small_wordpiece();
    other.ids = {{"cls", other.add("<cls>", text::TokenType::control)},
                 {"seperator", other.add("<sep>", text::TokenType::control)}};
    CHECK(require(other).encode("the", {}).value() == std::vector<TokenId>{21, 4, 22});
    other.flags = {{"add_bos_token", false}, {"add_eos_token", false}};
    CHECK(require(other).encode("the", {}).value() == std::vector<TokenId>{4});
    const SmallVocabulary bad{.model = "bert", .tokens = {"a"}, .types = {1}};
    CHECK(build(bad).error().kind == ErrorKind::corrupt);
}

// Gemma 4's tokenizer: merges of characters by rank, spaces as U+2581, runs of line breaks apart.
#include "tests/support/catch.hpp"
#include "tests/text/small_vocabularies.hpp"

#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

/// <unk>, the byte tokens (byte b is token 1 + b), then characters and the results of their merges.
SmallVocabulary vocabulary() {
    SmallVocabulary small{.model = "gemma4", .tokens = {"<unk>"}, .types = {2}, .ids = {{"unknown", 0}}};
    for (unsigned byte = 0; byte < 256; ++byte) {
        char name[8];
        std::snprintf(name, sizeof name, "<0x%02X>", byte);
        small.add(name, text::TokenType::byte);
    }
    for (const char* name : {"t", "h", "e", "\n", "\n\n", "th", "he", "the", "\u2581", "\u2581\u2581",
                             "\u2581t", "\u2581the", "\u00E4", "\n\n\n"})
        small.add(name);
    small.merges = {"h e", "t he", "\u2581 the", "t h", "\u2581 t", "\u2581 \u2581", "\n \n"};
    return small;
}

std::vector<std::string> pieces(const text::Tokenizer& tokenizer, std::string_view text) {
    const auto tokens = tokenizer.encode(text, {});
    REQUIRE(tokens);
    std::vector<std::string> pieces;
    for (const TokenId token : *tokens)
        pieces.emplace_back(tokenizer.bytes(token));
    return pieces;
}

using Pieces = std::vector<std::string>;

} // namespace

TEST_CASE("characters merge in the order of the list, across spaces") {
    const text::Tokenizer tokenizer = require(vocabulary());
    CHECK(pieces(tokenizer, "the the") == Pieces{"the", " the"});
    CHECK(pieces(tokenizer, "th") == Pieces{"th"});
    CHECK(pieces(tokenizer, "  the") == Pieces{" ", " the"}); // the earlier merge takes the second space
    CHECK(pieces(tokenizer, "  ") == Pieces{"  "});
    CHECK(pieces(tokenizer, " t") == Pieces{" t"});
    CHECK(pieces(tokenizer, "").empty());
}

TEST_CASE("a run of line breaks that is a token is not split; longer ones are merged") {
    const text::Tokenizer tokenizer = require(vocabulary());
    CHECK(pieces(tokenizer, "t\nt") == Pieces{"t", "\n", "t"});
    CHECK(pieces(tokenizer, "t\n\n\nt") == Pieces{"t", "\n\n\n", "t"}); // no merge makes it
    CHECK(pieces(tokenizer, "\n\n\n\n") == Pieces{"\n\n", "\n\n"});
    CHECK(pieces(tokenizer, "t\n the") == Pieces{"t", "\n", " the"});
}

TEST_CASE("a character without a token becomes its bytes, an invalid byte too") {
    const text::Tokenizer tokenizer = require(vocabulary());
    CHECK(pieces(tokenizer, "\u00E4\u00F6") == Pieces{"\u00E4", "\xC3", "\xB6"});
    CHECK(pieces(tokenizer, "t\xFFt") == Pieces{"t", "\xFF", "t"});
    SmallVocabulary without_bytes{.model = "gemma4", .tokens = {"a"}, .types = {1}, .merges = {"a a"}};
    const text::Tokenizer few = require(without_bytes);
    const auto refused = few.encode("b", {});
    REQUIRE(!refused);
    CHECK(refused.error().message == "the model's vocabulary has no token for the byte 0x62");
}

TEST_CASE("a gemma4 vocabulary adds BOS by default, and no space prefix") {
    SmallVocabulary small = vocabulary();
    const TokenId bos = small.add("<bos>", text::TokenType::control);
    small.ids.emplace_back("bos", bos);
    const text::Tokenizer tokenizer = require(small);
    CHECK(tokenizer.encode("t", {})->front() == bos);
    CHECK_FALSE(tokenizer.strips_leading_space());
    SmallVocabulary no_merges = vocabulary();
    no_merges.merges.clear();
    CHECK(build(no_merges).error().kind == ErrorKind::corrupt);
}

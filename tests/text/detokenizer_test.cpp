#include "core/base/utf8.hpp"
#include "core/text/detokenizer.hpp"
#include "tests/support/catch.hpp"
#include "tests/text/small_vocabularies.hpp"
#include "tests/text/vocabularies.hpp"

#include <random>

#include <fmt/format.h>

namespace etna::test {
namespace {

using text::ControlTokens;
using text::Detokenizer;
using text::TextPosition;

/// Token b of the small BPE vocabulary is byte b.
std::vector<TokenId> byte_tokens(std::string_view bytes) {
    std::vector<TokenId> tokens;
    for (const char byte : bytes)
        tokens.push_back(static_cast<uint8_t>(byte));
    return tokens;
}

/// The text with each invalid stretch replaced, computed without a stream.
std::string replaced(std::string_view bytes) {
    std::string text;
    while (!bytes.empty()) {
        const Utf8Step step = next_utf8(bytes);
        text += step.kind == Utf8Kind::valid ? bytes.substr(0, step.bytes) : replacement_character;
        bytes.remove_prefix(step.bytes);
    }
    return text;
}

} // namespace

TEST_CASE("an incomplete character waits for its remaining bytes") {
    const auto tokenizer = require(small_bpe());
    Detokenizer detokenizer(tokenizer);
    CHECK(detokenizer.push('a') == "a");
    CHECK(detokenizer.push(0xF0).empty());
    CHECK(detokenizer.push(0x9F).empty());
    CHECK(detokenizer.push(0xA6).empty());
    CHECK(detokenizer.push(0x99) == "\U0001F999");
    CHECK(detokenizer.flush().empty());
}

TEST_CASE("a sequence that can no longer become a character is replaced at once") {
    const auto tokenizer = require(small_bpe());
    Detokenizer detokenizer(tokenizer);
    CHECK(detokenizer.push(0xFF) == "\uFFFD");
    CHECK(detokenizer.push(0xE2).empty());
    CHECK(detokenizer.push(0x82).empty());
    CHECK(detokenizer.push('a') == "\uFFFDa"); // one for the maximal subpart E2 82
    CHECK(detokenizer.push(0xC3).empty());
    CHECK(detokenizer.flush() == "\uFFFD");
    CHECK(detokenizer.flush().empty());
}

TEST_CASE("WHATWG's example of maximal subparts") {
    // Unicode Standard 15, table 3-11.
    const auto tokenizer = require(small_bpe());
    CHECK(decode(tokenizer, byte_tokens("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41")) ==
          "\uFFFD\uFFFD\uFFFD\uFFFDA");
}

TEST_CASE("control tokens are hidden unless asked for; user-defined ones are text") {
    const auto tokenizer = require(small_bpe());
    const std::vector<TokenId> tokens = {'a', tokenizer.find("<|im_end|>").value(),
                                         tokenizer.find("<think>").value()};
    CHECK(decode(tokenizer, tokens) == "a<think>");
    CHECK(decode(tokenizer, tokens, {.control = ControlTokens::shown}) == "a<|im_end|><think>");
}

TEST_CASE("SentencePiece's leading space is removed at the start of a text only") {
    const auto tokenizer = require(small_sentencepiece());
    const TokenId bos = tokenizer.bos().value();
    const TokenId the = tokenizer.find("\u2581the").value();
    CHECK(decode(tokenizer, std::vector<TokenId>{bos, the, the}) == "the the");
    CHECK(decode(tokenizer, std::vector<TokenId>{the}, {.position = TextPosition::continuation}) == " the");
    const TokenId two_spaces = tokenizer.find("\u2581\u2581").value();
    CHECK(decode(tokenizer, std::vector<TokenId>{two_spaces, the}) == "  the");

    auto without_prefix = small_sentencepiece();
    without_prefix.flags.emplace_back("add_space_prefix", false);
    CHECK(decode(require(without_prefix), std::vector<TokenId>{the}) == " the");
}

TEST_CASE("streamed tokens give the text of decoding all at once, split between characters") {
    const auto tokenizer = require(small_bpe());
    std::mt19937 random(3);
    const std::vector<std::string> parts = {"a",    "\u00e9", "\u20ac",   "\U0001F999",
                                            "\xE2", "\x82",   "\xF0\x9F", "\xFF"};
    for (int round = 0; round < 5000; ++round) {
        std::string bytes;
        for (std::size_t n = random() % 12; n > 0; --n)
            bytes += parts[random() % parts.size()];
        Detokenizer detokenizer(tokenizer);
        std::string text;
        for (const TokenId token : byte_tokens(bytes)) {
            const std::string_view piece = detokenizer.push(token);
            REQUIRE(valid_utf8_prefix(piece) == piece.size());
            text += piece;
        }
        text += detokenizer.flush();
        INFO(fmt::format("bytes {:?}, expected {:?}, got {:?}", bytes, replaced(bytes), text));
        REQUIRE(text == replaced(bytes));
    }
}

TEST_CASE("real vocabularies decode what they encode") {
    const std::string name = GENERATE("gpt-2", "qwen3", "smollm2", "phi-3");
    const auto tokenizer = bundled_vocabulary(name);
    for (const auto& one :
         read_vectors(bundled_folder() / "texts.inp", bundled_folder() / "gpt-2.out").cases) {
        const auto tokens = tokenizer.encode(one.text, {});
        REQUIRE(tokens);
        INFO(fmt::format("{}: {:?}", name, one.text));
        CHECK(decode(tokenizer, *tokens) == one.text);
    }
}

} // namespace etna::test

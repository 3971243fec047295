#include "core/text/tokenizer.hpp"
#include "tests/support/catch.hpp"
#include "tests/text/small_vocabularies.hpp"
#include "tests/text/vocabularies.hpp"

#include <algorithm>
#include <functional>
#include <random>

#include <fmt/format.h>

namespace etna::test {
namespace {

using text::AddBos;
using text::EncodeOptions;
using text::SpecialTokens;
using text::TokenType;
using Ids = std::vector<TokenId>;

Ids encode(const text::Tokenizer& tokenizer, std::string_view text, EncodeOptions options = {}) {
    auto tokens = tokenizer.encode(text, options);
    if (!tokens)
        FAIL(tokens.error().message);
    return std::move(tokens).value();
}

std::string joined(const text::Tokenizer& tokenizer, const Ids& tokens) {
    std::string bytes;
    for (const TokenId token : tokens)
        bytes += tokenizer.bytes(token);
    return bytes;
}

const EncodeOptions literal = {.special = SpecialTokens::literal};

} // namespace

TEST_CASE("merges are made in the order of the list") {
    const auto tokenizer = require(small_bpe());
    const auto id = [&](std::string_view name) { return tokenizer.find(name).value(); };
    CHECK(encode(tokenizer, "the the") == Ids{id("the"), id("\u0120the")});
    CHECK(encode(tokenizer, "aaaaaaa") == Ids{id("aaaa"), id("aa"), 'a'});
    CHECK(encode(tokenizer, "thx") == Ids{id("th"), 'x'});
    CHECK(encode(tokenizer, "").empty());
}

TEST_CASE("control tokens are text in literal mode, user-defined ones never") {
    const auto tokenizer = require(small_bpe());
    const TokenId end = tokenizer.find("<|im_end|>").value();
    const TokenId think = tokenizer.find("<think>").value();
    CHECK(encode(tokenizer, "a<|im_end|>b<think>") == Ids{'a', end, 'b', think});
    const Ids plain = encode(tokenizer, "a<|im_end|>b<think>", literal);
    CHECK(plain == Ids{'a', '<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|', '>', 'b', think});
    CHECK(tokenizer.type(end) == TokenType::control);
    CHECK(tokenizer.type(think) == TokenType::user_defined);
    CHECK(tokenizer.type('a') == TokenType::normal);
}

TEST_CASE("the name of a control token is text if it crosses a barrier") {
    const auto tokenizer = require(small_bpe());
    const TokenId end = tokenizer.find("<|im_end|>").value();
    const TokenId think = tokenizer.find("<think>").value();
    const std::string text = "<|im_end|><|im_end|><think>";
    const Ids spelled = {'<', '|', 'i', 'm', '_', 'e', 'n', 'd', '|', '>'};
    Ids second = {end};
    second.insert(second.end(), spelled.begin(), spelled.end());
    second.push_back(think);
    for (const std::size_t barrier : {11, 15, 19}) {
        const std::vector<std::size_t> barriers = {0, 10, barrier, 20, 23, 27};
        CHECK(encode(tokenizer, text, {.barriers = barriers}) == second);
    }
    const std::vector<std::size_t> at_ends = {10, 20};
    CHECK(encode(tokenizer, text, {.barriers = at_ends}) == Ids{end, end, think});
}

TEST_CASE("text merges across a barrier") {
    for (const auto& tokenizer : {require(small_bpe()), require(small_sentencepiece())}) {
        const std::vector<std::size_t> barriers = {1, 2, 5, 6};
        CHECK(encode(tokenizer, "the the", {.barriers = barriers}) == encode(tokenizer, "the the"));
    }
    const auto tokenizer = require(small_sentencepiece());
    const std::vector<std::size_t> inside = {4};
    const Ids tokens = encode(tokenizer, "the</s>", {.bos = AddBos::never, .barriers = inside});
    CHECK(std::find(tokens.begin(), tokens.end(), tokenizer.eos().value()) == tokens.end());
    CHECK(joined(tokenizer, tokens) == " the</s>");
}

TEST_CASE("no merge produces a control token from text") {
    auto vocabulary = small_bpe();
    vocabulary.add("x<");
    vocabulary.add("x<y", TokenType::control);
    vocabulary.merges.insert(vocabulary.merges.end(), {"x <", "x< y"});
    const auto bpe = require(vocabulary);
    CHECK(joined(bpe, encode(bpe, "x<y", literal)) == "x<y");
    for (const TokenId token : encode(bpe, "x<y", literal))
        CHECK(bpe.type(token) == TokenType::normal);

    auto pieces = small_sentencepiece();
    pieces.add("</", TokenType::normal, -0.5F);
    pieces.add("</s", TokenType::normal, -0.4F);
    const auto spm = require(pieces);
    CHECK(encode(spm, "</s>", {.special = SpecialTokens::literal, .bos = AddBos::never}) ==
          Ids{spm.find("\u2581").value(), spm.find("</s").value(), spm.find(">").value()});
    CHECK(encode(spm, "</s>", {.bos = AddBos::never}) == Ids{spm.eos().value()});
}

TEST_CASE("BOS and EOS are added as the file defines, or never") {
    auto vocabulary = small_bpe();
    vocabulary.ids.emplace_back("bos", 7);
    CHECK(encode(require(vocabulary), "x") ==
          Ids{'x'}); // BPE: only if the file or the pre-tokenizer requires it
    vocabulary.flags = {{"add_bos_token", true}, {"add_eos_token", true}};
    const auto both = require(vocabulary);
    CHECK(encode(both, "x") == Ids{7, 'x', both.eos().value()});
    CHECK(encode(both, "x", {.bos = AddBos::never}) == Ids{'x'});
    CHECK(encode(both, "") == Ids{7, both.eos().value()});
    vocabulary.flags = {};
    vocabulary.pre = "llama-bpe";
    CHECK(encode(require(vocabulary), "x") == Ids{7, 'x'});
    vocabulary.flags = {{"add_bos_token", false}};
    CHECK(encode(require(vocabulary), "x") == Ids{'x'});

    auto pieces = small_sentencepiece();
    CHECK(encode(require(pieces), "").front() == 1);
    pieces.flags = {{"add_bos_token", false}};
    CHECK(encode(require(pieces), "").empty());
}

TEST_CASE("a pre-tokenizer that ignores merges maps words in the vocabulary to their tokens") {
    auto vocabulary = small_bpe();
    const TokenId word = vocabulary.add("thea"); // no merge produces it
    CHECK(encode(require(vocabulary), "thea").size() == 2);
    vocabulary.pre = "llama3";
    CHECK(encode(require(vocabulary), "thea") == Ids{word});
}

TEST_CASE(
    "merging continues through pieces missing from the vocabulary, which are encoded as bytes at the end") {
    auto vocabulary = small_bpe();
    vocabulary.merges = {"x y", "xy z"}; // "xy" is not a token
    const TokenId whole = vocabulary.add("xyz");
    const auto tokenizer = require(vocabulary);
    CHECK(encode(tokenizer, "xyz") == Ids{whole});
    CHECK(encode(tokenizer, "xya") == Ids{'x', 'y', 'a'});
}

TEST_CASE("SentencePiece prepends a space to each stretch of text between special tokens") {
    const auto tokenizer = require(small_sentencepiece());
    const auto id = [&](std::string_view name) { return tokenizer.find(name).value(); };
    CHECK(tokenizer.strips_leading_space());
    CHECK(encode(tokenizer, "the the") == Ids{1, id("\u2581the"), id("\u2581the")});
    CHECK(encode(tokenizer, "the</s>the") == Ids{1, id("\u2581the"), 2, id("\u2581the")});
    auto without = small_sentencepiece();
    without.flags = {{"add_space_prefix", false}, {"add_bos_token", false}};
    const auto bare = require(without);
    CHECK_FALSE(bare.strips_leading_space());
    CHECK(encode(bare, "the the") == Ids{id("the"), id("\u2581the")});
}

TEST_CASE("Phi 3's special tokens absorb the white space after them, except for three") {
    const auto tokenizer = bundled_vocabulary("phi-3");
    const auto id = [&](std::string_view name) { return tokenizer.find(name).value(); };
    const EncodeOptions bare = {.bos = AddBos::never};
    CHECK(encode(tokenizer, "<|user|>\n Hi<|end|>\n<|assistant|>\n", bare) ==
          Ids{id("<|user|>"), id("\u2581Hi"), id("<|end|>"), id("<|assistant|>")});
    CHECK(encode(tokenizer, "<|endoftext|>\nHi", bare) ==
          Ids{id("<|endoftext|>"), id("\u2581"), id("<0x0A>"), id("Hi")});
    CHECK(encode(tokenizer, "</s> \t\r\n", bare) == Ids{id("</s>")});

    auto vocabulary = small_sentencepiece();
    const TokenId end = vocabulary.add("<|end|>", TokenType::control);
    const Ids separate = encode(require(vocabulary), "<|end|>  the", bare);
    CHECK(separate.size() > 2); // those of another architecture do not
    vocabulary.architecture = "phi3";
    const auto phi3 = require(vocabulary);
    CHECK(encode(phi3, "<|end|>  the", bare) == Ids{end, phi3.find("\u2581the").value()});
}

TEST_CASE("SentencePiece encodes text without a piece as byte tokens, or as the unknown token") {
    auto vocabulary = small_sentencepiece();
    vocabulary.flags = {{"add_space_prefix", false}, {"add_bos_token", false}};
    const auto tokenizer = require(vocabulary);
    CHECK(encode(tokenizer, "\u20ac\xFF") == Ids{3 + 0xE2, 3 + 0x82, 3 + 0xAC, 3 + 0xFF});
    CHECK(encode(tokenizer, "\u00e9") == Ids{tokenizer.find("\u00e9").value()});
    vocabulary.tokens[3 + 0xFF] = "gone";
    vocabulary.types[3 + 0xFF] = static_cast<int32_t>(TokenType::normal);
    CHECK(encode(require(vocabulary), "\xFF") == Ids{0});
    vocabulary.ids.erase(vocabulary.ids.begin());
    const auto without_unknown = require(vocabulary);
    const auto failed = without_unknown.encode("\xFF", {});
    REQUIRE_FALSE(failed);
    CHECK(failed.error().kind == ErrorKind::invalid_argument);
    CHECK(failed.error().message.find("0xFF") != std::string::npos);
}

TEST_CASE("user-defined tokens of SentencePiece match spaces and space marks alike") {
    auto vocabulary = small_sentencepiece();
    vocabulary.flags = {{"add_space_prefix", false}, {"add_bos_token", false}};
    const TokenId three = vocabulary.add("\u2581\u2581\u2581", TokenType::user_defined, 0);
    const auto tokenizer = require(vocabulary);
    CHECK(encode(tokenizer, "a   a", literal) ==
          Ids{tokenizer.find("a").value(), three, tokenizer.find("a").value()});
    CHECK(encode(tokenizer, "\u2581\u2581\u2581", literal) == Ids{three});
    CHECK(tokenizer.bytes(three) == "   ");
}

TEST_CASE("a byte missing from a byte-level vocabulary is dropped") {
    const auto tokenizer = bundled_vocabulary("smollm2"); // 21 bytes have no token, rare ones all
    CHECK(encode(tokenizer, "a\xFE") == encode(tokenizer, "a"));
    CHECK(encode(tokenizer, "\x04\x1D").empty());
    auto vocabulary = small_bpe();
    vocabulary.tokens['b'] = "gone";
    CHECK(encode(require(vocabulary), "abc") == Ids{'a', 'c'});
    const auto tokens = require(vocabulary);
    CHECK(encode(tokens, "tbhbe") == Ids{tokens.find("the").value()}); // its neighbours merge
    vocabulary.ids.emplace_back("unknown", 7); // often the name of a token that means something else
    CHECK(encode(require(vocabulary), "abc") == Ids{'a', 'c'});
}

TEST_CASE("tokenization stops when it is cancelled") {
    const std::string word(1'000'000, 'a');
    std::string words;
    while (words.size() < word.size())
        words += "the a";
    for (const SmallVocabulary& vocabulary : {small_bpe(), small_sentencepiece()}) {
        const auto tokenizer = require(vocabulary);
        for (const std::string& text : {word, words}) {
            int questions = 0;
            const CancelPoll stop = [&] { return ++questions == 3; };
            const auto stopped = tokenizer.encode(text, {.is_cancelled = stop});
            REQUIRE(!stopped.has_value());
            CHECK(stopped.error().kind == ErrorKind::cancelled);
            CHECK(questions == 3);
            const CancelPoll never = [&] { return ++questions, false; };
            CHECK(encode(tokenizer, text, {.is_cancelled = never}) == encode(tokenizer, text));
            CHECK(questions > 6);    // it polls throughout
            CHECK(questions < 2000); // but not at every step
        }
    }
}

TEST_CASE("any bytes survive the round trip through real byte-level vocabularies") {
    const std::string name = GENERATE("gpt-2", "qwen3");
    const auto tokenizer = bundled_vocabulary(name);
    std::mt19937 random(5);
    for (int round = 0; round < 500; ++round) {
        std::string bytes(random() % 200, '\0');
        for (char& byte : bytes)
            byte = static_cast<char>(random() % (round % 2 == 0 ? 256 : 128));
        for (const SpecialTokens special : {SpecialTokens::parse, SpecialTokens::literal}) {
            const Ids tokens = encode(tokenizer, bytes, {.special = special, .bos = AddBos::never});
            INFO(fmt::format("{}, round {}, {:?}", name, round, bytes));
            REQUIRE(joined(tokenizer, tokens) == bytes);
        }
    }
}

} // namespace etna::test

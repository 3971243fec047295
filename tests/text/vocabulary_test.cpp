// Vocabularies of files: accepted and refused values.
#include "core/text/tokenizer.hpp"
#include "tests/support/catch.hpp"
#include "tests/text/small_vocabularies.hpp"
#include "tests/text/vocabularies.hpp"

#include <algorithm>
#include <limits>

namespace etna::test {
namespace {

using text::TokenType;

void check_refused(const SmallVocabulary& vocabulary, ErrorKind kind, std::string_view word) {
    const auto result = build(vocabulary);
    REQUIRE_FALSE(result);
    INFO(result.error().message);
    CHECK(result.error().kind == kind);
    CHECK(result.error().message.find(word) != std::string::npos);
    CHECK(result.error().message.find("small.gguf") != std::string::npos);
    CHECK_FALSE(result.error().hint.empty());
}

} // namespace

TEST_CASE("unknown kinds of tokenizer are refused by name") {
    auto vocabulary = small_bpe();
    vocabulary.pre = "klingon";
    check_refused(vocabulary, ErrorKind::unsupported, "klingon");
    vocabulary.model = "rwkv";
    check_refused(vocabulary, ErrorKind::unsupported, "rwkv");
    vocabulary.model = "";
    check_refused(vocabulary, ErrorKind::corrupt, "tokenizer.ggml.model");
}

TEST_CASE("missing and short lists are refused") {
    auto no_tokens = small_bpe();
    no_tokens.tokens.clear();
    check_refused(no_tokens, ErrorKind::corrupt, "tokenizer.ggml.tokens");
    auto no_merges = small_bpe();
    no_merges.merges.clear();
    check_refused(no_merges, ErrorKind::corrupt, "tokenizer.ggml.merges");
    auto no_scores = small_sentencepiece();
    no_scores.scores.clear();
    check_refused(no_scores, ErrorKind::corrupt, "tokenizer.ggml.scores");
    auto short_scores = small_sentencepiece();
    short_scores.scores.pop_back();
    check_refused(short_scores, ErrorKind::corrupt, "tokenizer.ggml.scores");
    auto short_types = small_bpe();
    short_types.types.pop_back();
    check_refused(short_types, ErrorKind::corrupt, "tokenizer.ggml.token_type");
}

TEST_CASE("inconsistent values are refused") {
    auto id = small_bpe();
    id.ids.emplace_back("bos", static_cast<uint32_t>(id.tokens.size()));
    check_refused(id, ErrorKind::corrupt, "bos_token_id");
    auto type = small_bpe();
    type.types[3] = 7;
    check_refused(type, ErrorKind::corrupt, "token 3");
    auto score = small_sentencepiece();
    score.scores[5] = std::numeric_limits<float>::quiet_NaN();
    check_refused(score, ErrorKind::corrupt, "tokenizer.ggml.scores");
    auto merge = small_bpe();
    merge.merges[2] = "nospace";
    check_refused(merge, ErrorKind::corrupt, "merge 2");
    auto bos = small_bpe();
    bos.flags.emplace_back("add_bos_token", true);
    check_refused(bos, ErrorKind::corrupt, "bos_token_id");
}

TEST_CASE("an id of all ones means that the token is absent") {
    auto vocabulary = small_bpe();
    vocabulary.ids.emplace_back("bos", std::numeric_limits<uint32_t>::max());
    const auto tokenizer = build(vocabulary);
    REQUIRE(tokenizer);
    CHECK_FALSE(tokenizer->bos());
}

TEST_CASE("equal and empty names are harmless: the first of equal names is found") {
    auto vocabulary = small_bpe();
    vocabulary.add("th");
    const TokenId empty = vocabulary.add("");
    const auto tokenizer = build(vocabulary);
    REQUIRE(tokenizer);
    CHECK(tokenizer->find("th") < empty - 1);
    CHECK_FALSE(tokenizer->find(""));
    CHECK(tokenizer->bytes(empty).empty());
}

TEST_CASE("end tokens are eos, eot, eom and the well-known names") {
    auto vocabulary = small_bpe();
    vocabulary.ids = {{"eos", 1}, {"eot", 2}, {"eom", 3}};
    const TokenId text_like = vocabulary.add("</s>");            // typed as text: closes an HTML element
    const TokenId end_of_text = vocabulary.add("<|endoftext|>"); // typed as text, although it ends a text
    const auto tokenizer = build(vocabulary);
    REQUIRE(tokenizer);
    const auto ends = tokenizer->end_tokens();
    const std::vector<TokenId> expected = {1, 2, 3, tokenizer->find("<|im_end|>").value(), end_of_text};
    CHECK(std::vector<TokenId>(ends.begin(), ends.end()) == expected);
    CHECK(tokenizer->type(end_of_text) == TokenType::control);
    CHECK(tokenizer->type(text_like) == TokenType::normal);
}

TEST_CASE("real vocabularies know their end tokens") {
    const auto [name, end] = GENERATE(table<std::string, std::string>({{"gpt-2", "<|endoftext|>"},
                                                                       {"qwen3", "<|im_end|>"},
                                                                       {"smollm2", "<|im_end|>"},
                                                                       {"phi-3", "<|end|>"}}));
    const auto tokenizer = bundled_vocabulary(name);
    const auto ends = tokenizer.end_tokens();
    CHECK(std::find(ends.begin(), ends.end(), tokenizer.find(end).value()) != ends.end());
    CHECK(std::find(ends.begin(), ends.end(), tokenizer.eos().value()) != ends.end());
}

} // namespace etna::test

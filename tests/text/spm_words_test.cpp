// Encoding word by word gives SentencePiece's tokens of the entire text, whatever spaces a vocabulary has
// inside its tokens.
#include "tests/support/catch.hpp"
#include "tests/text/small_vocabularies.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

const std::string mark = "\u2581";

/// The merges by definition: repeatedly the best pair of all, the leftmost among equals.
std::vector<TokenId> merged(const std::string& text,
                            const std::map<std::string, std::pair<TokenId, float>>& tokens) {
    std::vector<std::string> symbols = {mark};
    for (const char letter : text)
        symbols.push_back(letter == ' ' ? mark : std::string(1, letter));
    while (true) {
        std::size_t best = symbols.size();
        float best_score = 0;
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            const auto found = tokens.find(symbols[i] + symbols[i + 1]);
            if (found != tokens.end() && (best == symbols.size() || found->second.second > best_score)) {
                best = i;
                best_score = found->second.second;
            }
        }
        if (best == symbols.size())
            break;
        symbols[best] += symbols[best + 1];
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    std::vector<TokenId> ids;
    for (const std::string& symbol : symbols)
        ids.push_back(tokens.at(symbol).first);
    return ids;
}

std::string random_text(std::mt19937& random, std::size_t length) {
    constexpr std::string_view letters = "abc  ";
    std::string text;
    for (std::size_t i = 0; i < length; ++i)
        text += letters[random() % letters.size()];
    return text;
}

std::string with_marks(const std::string& text) {
    std::string marked;
    for (const char letter : text)
        marked += letter == ' ' ? mark : std::string(1, letter);
    return marked;
}

} // namespace

TEST_CASE("encoding word by word equals merging the entire text, for any spaces inside tokens") {
    std::mt19937 random(7);
    for (int vocabularies = 0; vocabularies < 60; ++vocabularies) {
        SmallVocabulary vocabulary = small_sentencepiece();
        vocabulary.flags = {{"add_bos_token", false}};
        std::map<std::string, std::pair<TokenId, float>> tokens;
        const auto add = [&](const std::string& name) {
            const float score = -static_cast<float>(random() % 20);
            if (std::find(vocabulary.tokens.begin(), vocabulary.tokens.end(), name) ==
                vocabulary.tokens.end())
                vocabulary.add(name, text::TokenType::normal, score);
        };
        for (const char* letter : {"a", "b", "c"})
            add(letter);
        for (int i = 0; i < 25; ++i)
            add(with_marks(random_text(random, 2 + random() % 3)));
        for (TokenId id = 0; id < vocabulary.tokens.size(); ++id) {
            if (vocabulary.types[id] == static_cast<int32_t>(text::TokenType::normal))
                tokens.emplace(vocabulary.tokens[id], std::pair(id, vocabulary.scores[id]));
        }
        const auto tokenizer = build(vocabulary);
        if (!tokenizer)
            FAIL(tokenizer.error().message);
        for (int texts = 0; texts < 40; ++texts) {
            const std::string text = random_text(random, 1 + random() % 60);
            CAPTURE(text, vocabularies);
            const auto encoded = tokenizer->encode(text, {});
            REQUIRE(encoded);
            REQUIRE(*encoded == merged(text, tokens));
        }
    }
}

TEST_CASE("memory is reserved for the longest word and the text's length, and a refusal is an error") {
    for (const auto& vocabulary : {small_bpe(), small_sentencepiece()}) {
        const auto tokenizer = build(vocabulary);
        REQUIRE(tokenizer);
        std::size_t claimed = 0;
        std::size_t granted = SIZE_MAX;
        const std::function<bool(std::size_t)> claim = [&](std::size_t bytes) {
            claimed += bytes;
            return claimed <= granted;
        };
        std::string words;
        while (words.size() < 1'000'000)
            words += "the the a";
        REQUIRE(tokenizer->encode(words, {.reserve_memory = &claim}));
        CHECK(claimed == words.size() * sizeof(TokenId));
        claimed = 0;
        REQUIRE(tokenizer->encode(std::string(1'000'000, 'a'), {.reserve_memory = &claim}));
        CHECK(claimed > 1'000'000 * (sizeof(TokenId) + 20));
        granted = claimed - 1;
        claimed = 0;
        const auto refused = tokenizer->encode(std::string(1'000'000, 'a'), {.reserve_memory = &claim});
        REQUIRE(!refused);
        CHECK(refused.error().kind == ErrorKind::out_of_memory);
    }
}

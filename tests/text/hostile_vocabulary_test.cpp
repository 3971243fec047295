// Vocabularies that are made to hurt a tokenizer. Steps and bytes are counted, not seconds: a text of twice
// the length takes about twice the steps, and memory is asked for before it is used.
#include "core/text/unigram.hpp"
#include "tests/support/catch.hpp"
#include "tests/text/small_vocabularies.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;
using text::TokenType;

namespace {

constexpr std::size_t kib = 1024;
constexpr uint64_t steps_per_poll = 4096; ///< of TokenizeBudget

struct Costs {
    uint64_t steps = 0; ///< rounded to polls
    std::size_t reserved_bytes = 0;
    Result<std::vector<TokenId>> tokens = std::vector<TokenId>();
};

/// Encodes with a limit of memory.
Costs costs_of(const text::Tokenizer& tokenizer, const std::string& text, std::size_t bytes_max = SIZE_MAX) {
    Costs costs;
    const CancelPoll poll = [&] { return costs.steps += steps_per_poll, false; };
    const std::function<bool(std::size_t)> reserve = [&](std::size_t bytes) {
        if (bytes > bytes_max - costs.reserved_bytes)
            return false;
        costs.reserved_bytes += bytes;
        return true;
    };
    costs.tokens = tokenizer.encode(
        text, {.bos = text::AddBos::never, .is_cancelled = poll, .reserve_memory = &reserve});
    return costs;
}

/// Runs of 'a' as tokens, up to 600 letters; one of 100,000 with a space in it, so that words are not
/// separated.
SmallVocabulary with_runs(SmallVocabulary vocabulary) {
    for (std::size_t length = 2; length <= 600; ++length)
        vocabulary.add(std::string(length, 'a'), TokenType::normal, static_cast<float>(length));
    vocabulary.add(std::string(50'000, 'a') + "\u2581" + std::string(50'000, 'a'), TokenType::normal, 1e6F);
    vocabulary.add("b\u2581b", TokenType::normal, 0);
    return vocabulary;
}

SmallVocabulary bpe_with_runs(std::string pre) {
    SmallVocabulary vocabulary = small_bpe();
    vocabulary.pre = std::move(pre);
    for (std::size_t length = 3; length <= 600; ++length) {
        vocabulary.add(std::string(length, 'a'));
        vocabulary.merges.push_back(std::string(length - 1, 'a') + " a");
    }
    vocabulary.add(std::string(100'000, 'a'));
    return vocabulary;
}

std::vector<std::pair<std::string, SmallVocabulary>> hostile_vocabularies() {
    SmallVocabulary wordpiece = with_runs(small_wordpiece());
    SmallVocabulary characters = small_bpe();
    characters.model = "gemma4";
    characters.ids.emplace_back("unknown", 0);
    for (std::size_t length = 3; length <= 600; ++length) {
        characters.add(std::string(length, 'a'));
        characters.merges.push_back(std::string(length - 1, 'a') + " a");
    }
    SmallVocabulary specials = small_bpe();
    for (std::size_t length = 2; length < 512; ++length)
        specials.add(std::string(length, 'a') + "b", TokenType::control);
    return {{"SentencePiece", with_runs(small_sentencepiece())},
            {"unigram", with_runs(small_unigram())},
            {"WordPiece", std::move(wordpiece)},
            {"BPE", bpe_with_runs("gpt-2")},
            {"BPE that ignores merges", bpe_with_runs("llama-bpe")},
            {"BPE of characters", std::move(characters)},
            {"special tokens", std::move(specials)}};
}

} // namespace

TEST_CASE("the steps of a tokenizer grow with the text's length, whatever the vocabulary") {
    for (const auto& [name, vocabulary] : hostile_vocabularies()) {
        CAPTURE(name);
        const auto tokenizer = require(vocabulary);
        for (const std::string part : {"a", "a ", "aab", "\xFF"}) {
            CAPTURE(part);
            const auto repeated = [&](std::size_t bytes) {
                std::string text;
                while (text.size() < bytes)
                    text += part;
                return text;
            };
            const Costs small = costs_of(tokenizer, repeated(16 * kib));
            const Costs large = costs_of(tokenizer, repeated(64 * kib));
            REQUIRE(small.tokens);
            REQUIRE(large.tokens);
            CHECK(large.steps < 5 * (small.steps + steps_per_poll));
            CHECK(large.steps < 64 * kib * 700);
            CHECK(large.steps >= 64 * kib / 2); // it polls throughout
            CHECK(large.reserved_bytes + 2 * sizeof(TokenId) >= large.tokens->size() * sizeof(TokenId));
        }
    }
}

TEST_CASE("a character map that makes much of little asks for the memory before it grows") {
    SmallVocabulary vocabulary = small_unigram();
    vocabulary.character_map = character_map_of({{"z", std::string(kib * kib, 'a')}});
    const auto tokenizer = require(vocabulary);
    const Costs one = costs_of(tokenizer, "z");
    REQUIRE(one.tokens);
    CHECK(one.tokens->size() > 300 * kib); // of up to three letters
    CHECK(one.reserved_bytes > kib * kib);
    constexpr std::size_t bytes_max = 8 * kib * kib;
    const Costs many = costs_of(tokenizer, std::string(1000, 'z'), bytes_max);
    REQUIRE(!many.tokens);
    CHECK(many.tokens.error().kind == ErrorKind::out_of_memory);
    CHECK(many.steps < bytes_max);
}

TEST_CASE("tokenization with a character map stops when it is cancelled") {
    SmallVocabulary vocabulary = small_unigram();
    vocabulary.character_map = character_map_of({{"z", std::string(kib * kib, 'a')}});
    const auto tokenizer = require(vocabulary);
    int polls = 0;
    const CancelPoll stop = [&] { return ++polls == 2; };
    const auto stopped = tokenizer.encode(std::string(1000, 'z'), {.is_cancelled = stop});
    REQUIRE(!stopped);
    CHECK(stopped.error().kind == ErrorKind::cancelled);
}

TEST_CASE("a character map whose trie is a circle matches a bounded part of the text") {
    constexpr uint32_t base = 256;
    constexpr uint32_t leaf = 1U << 8;
    std::vector<uint32_t> units(2 * base);
    units[0] = 1U << 10 | 0x200U;                                   // to `base`
    units[base ^ 'a'] = uint32_t{'a'} << 10 | leaf | uint32_t{'a'}; // back to `base`
    units[base] = 0x80000000U;                                      // the leaf's value: the first text
    const auto bytes = character_map_of(units, std::string("the\0", 4));
    const auto map = text::CharacterMap::create(std::as_bytes(std::span(bytes)));
    REQUIRE(map);
    const auto match = map->find(std::string(100'000, 'a'));
    REQUIRE(match);
    CHECK(match->bytes == text::CharacterMap::rule_bytes_max);
    CHECK(match->replacement == "the");

    SmallVocabulary vocabulary = small_unigram();
    vocabulary.character_map = bytes;
    const Costs costs = costs_of(require(vocabulary), std::string(64 * kib, 'a'));
    REQUIRE(costs.tokens);
    CHECK(costs.tokens->size() < 3 * kib); // 64 letters become one "the"
}

TEST_CASE("tokens that a text has more of than bytes ask for memory") {
    SmallVocabulary vocabulary = small_sentencepiece();
    for (std::string& token : vocabulary.tokens) // a space becomes three byte tokens
        token = token.starts_with("\u2581") ? "gone" + token.substr(3) : token;
    vocabulary.flags = {{"add_space_prefix", false}};
    const auto tokenizer = require(vocabulary);
    const std::string text(100 * kib + 1, ' ');
    const Costs costs = costs_of(tokenizer, text + "x");
    REQUIRE(costs.tokens);
    CHECK(costs.tokens->size() > text.size());
    CHECK(costs.reserved_bytes > (text.size() + costs.tokens->size()) * sizeof(TokenId));
    const Costs refused = costs_of(tokenizer, text, text.size() * sizeof(TokenId) + kib);
    REQUIRE(!refused.tokens);
    CHECK(refused.tokens.error().kind == ErrorKind::out_of_memory);
}

TEST_CASE("long names and many special tokens load, and stay tokens") {
    SmallVocabulary vocabulary = small_sentencepiece();
    vocabulary.flags = {{"add_space_prefix", false}};
    const std::string prefix(400, '<');
    std::vector<TokenId> ids;
    for (int i = 0; i < 20'000; ++i)
        ids.push_back(vocabulary.add(prefix + std::to_string(i), TokenType::control));
    const TokenId longest = vocabulary.add(std::string(kib * kib, 'x'));
    const auto tokenizer = require(vocabulary);
    CHECK(costs_of(tokenizer, prefix + "19999").tokens.value() == std::vector{ids[19'999]});
    CHECK(costs_of(tokenizer, prefix + "1999" + prefix).tokens.value().front() == ids[1'999]);
    CHECK(tokenizer.bytes(longest).size() == kib * kib);
    CHECK(tokenizer.find(std::string(kib * kib, 'x')) == longest);
}

// Breakers are text for users and tokens for the sampler.

#include "core/generate/dry_breakers.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/random_tokenizer.hpp"

#include <random>

using namespace etna;

namespace {

text::Tokenizer sentencepiece() {
    return text::Tokenizer::create(gguf::File::open(ETNA_TEST_DATA "/models/stories260K.gguf").value())
        .value();
}

text::Tokenizer bpe() {
    test::GgufWriter writer;
    writer.add("general.architecture", "qwen3");
    test::add_bpe_tokenizer(writer, test::minimum_bpe_vocabulary + 40);
    const test::Bytes bytes = writer.bytes();
    return text::Tokenizer::create(gguf::File::parse(bytes, "bpe").value()).value();
}

/// Tokens behind the one in which the last `breaker` of the text ends; all of them when there is none.
std::size_t tokens_behind(const text::Tokenizer& tokenizer, const std::vector<TokenId>& tokens,
                          const std::vector<std::string>& breakers) {
    std::string text;
    std::size_t behind = 0;
    for (const TokenId token : tokens) {
        const std::size_t before = text.size();
        text += tokenizer.bytes(token);
        ++behind;
        for (const std::string& breaker : breakers) {
            const std::size_t found = text.rfind(breaker);
            if (found != std::string::npos && found + breaker.size() > before)
                behind = 0;
        }
    }
    return behind;
}

std::vector<TokenId> encode(const text::Tokenizer& tokenizer, const std::string& text) {
    return tokenizer.encode(text, {.bos = text::AddBos::never}).value();
}

} // namespace

TEST_CASE("the usual breakers are found wherever tokens were cut") {
    const std::vector<std::string> usual = generate::default_dry_breakers();
    const std::vector<std::string> words = {" the", " dog", "\n",    ":",    " \"",
                                            "*",    "\"Hi", ".\n\n", " a:b", "12"};
    for (const auto& make : {sentencepiece, bpe}) {
        const text::Tokenizer tokenizer = make();
        const auto breakers = generate::encode_dry_breakers(tokenizer, usual).value();
        std::mt19937 generator(1);
        for (uint32_t round = 0; round < 300; ++round) {
            std::string text;
            for (uint32_t i = 0; i < generator() % 8; ++i)
                text += words[generator() % words.size()];
            const std::vector<TokenId> tokens = encode(tokenizer, text);
            CAPTURE(text);
            CHECK(breakers.tokens_after_last(tokens, tokens.size()) ==
                  tokens_behind(tokenizer, tokens, usual));
        }
    }
}

TEST_CASE("breakers of several tokens are found, behind whatever begins them") {
    for (const auto& make : {sentencepiece, bpe}) {
        const text::Tokenizer tokenizer = make();
        for (const std::string breaker : {"the girl", "girl", " and ", "\n\n- ", "\xe2\x98\x83"}) {
            const auto breakers = generate::encode_dry_breakers(tokenizer, std::vector{breaker}).value();
            for (const char* before : {"", "x", " in", "a "}) {
                const std::vector<TokenId> tokens = encode(tokenizer, before + breaker);
                CAPTURE(breaker, before, tokens);
                CHECK(breakers.tokens_after_last(tokens, tokens.size()) == 0);
                CHECK(breakers.tokens_after_last(std::span(tokens).first(tokens.size() - 1), 100) ==
                      tokens.size() - 1);
            }
        }
    }
}

TEST_CASE("control tokens have no text to break at") {
    const text::Tokenizer tokenizer = sentencepiece();
    const auto breakers = generate::encode_dry_breakers(tokenizer, std::vector<std::string>{"s>"}).value();
    CHECK(!breakers.contains(tokenizer.eos().value()));
}

TEST_CASE("breakers that cannot be are refused") {
    const text::Tokenizer tokenizer = sentencepiece();
    const auto error_of = [&](const std::vector<std::string>& breakers) {
        return generate::encode_dry_breakers(tokenizer, breakers).error().message;
    };
    CHECK(error_of({"\n", ""}) == "a sequence breaker has 0 bytes, outside 1 to 40");
    CHECK(error_of({std::string(41, 'x')}) == "a sequence breaker has 41 bytes, outside 1 to 40");
    CHECK(error_of(std::vector<std::string>(65, "x")) == "65 sequence breakers, and at most 64 can be had");
    CHECK(generate::encode_dry_breakers(tokenizer, std::vector<std::string>(64, std::string(40, 'x'))));
    CHECK(generate::encode_dry_breakers(tokenizer, std::vector{std::string(40, '\xff')}));
    CHECK(generate::encode_dry_breakers(tokenizer, {}));
}

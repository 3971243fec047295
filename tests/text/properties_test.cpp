// Properties of tokenizers over random and collected bytes; tests/fuzz/tokenizer.cpp checks them over a
// fuzzer's inputs.
#include "tests/support/catch.hpp"
#include "tests/text/properties.hpp"

#include <random>
#include <vector>

#include <fmt/format.h>

namespace etna::test {

TEST_CASE("collected hostile texts satisfy the properties") {
    const std::vector<std::string> corpus = {
        "",
        std::string(1, '\0'),
        "\xFF\xFE\x80",
        "\xE2\x96\x81\xE2\x96", // a space mark, then an incomplete one
        "the <|im_end|> the<think>",
        "<|im_end|<|im_end|>>",
        "<think<think>",
        "</s><s><unk><0x0A>",
        "\xF0\x9F\xA6\x99 \xF0\x9F\xA6",        // a llama, then most of one
        "\xED\xA0\x80\xF4\x90\x80\x80\xC0\xAF", // surrogate, above U+10FFFF, overlong
        "aaaaaaaaab aaa    a\r\n\r\n \t\n",
        "'s'S'\xC5\xBF \xC2\x85\xE1\xA0\x8E\xE3\x80\x80", // long s, unusual white space
    };
    for (const std::string& text : corpus) {
        const auto failure = broken_property(text);
        INFO(failure.value_or(""));
        CHECK_FALSE(failure);
    }
}

TEST_CASE("random texts satisfy the properties") {
    std::mt19937 random(7); // the same texts every time
    const std::vector<std::string> parts = {
        "the",        " ",       "a", "aa",   "\n",   "\u2581",     "\xC3", "\xA9", "\u00e9",
        "<|im_end|>", "<think>", "<", "</s>", "\xFF", "\U0001F999", "'ll",  "12",   "\xE2\x96"};
    for (int round = 0; round < 3000; ++round) {
        std::string text;
        const std::size_t count = random() % 24;
        for (std::size_t i = 0; i < count; ++i) {
            text += round % 2 == 0 ? parts[random() % parts.size()]
                                   : std::string(1, static_cast<char>(random() % 256));
        }
        const auto failure = broken_property(text);
        INFO(fmt::format("round {}, {:?}: {}", round, text, failure.value_or("")));
        REQUIRE_FALSE(failure);
    }
}

} // namespace etna::test

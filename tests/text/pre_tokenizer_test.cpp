#include "core/text/pre_tokenizer.hpp"
#include "tests/support/catch.hpp"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::text {
namespace {

using Words = std::vector<std::string_view>;

Words split(std::string_view name, std::string_view text) {
    const auto pre_tokenizer = PreTokenizer::create(name);
    if (!pre_tokenizer)
        FAIL(pre_tokenizer.error().message);
    TokenizeBudget budget(CancelPoll{});
    Words words;
    const Status split = pre_tokenizer->split(text, budget, [&](std::string_view word) {
        words.push_back(word);
        return Status();
    });
    if (!split)
        FAIL(split.error().message);
    return words;
}

} // namespace

TEST_CASE("each row splits texts as the model's own expression does") {
    CHECK(split("gpt-2", "I'm 1234 ok!!  \n x") == Words{"I", "'m", " 1234", " ok", "!!", "  \n", " x"});
    CHECK(split("qwen2", "I'M 12\r\n\nx") == Words{"I", "'M", " ", "1", "2", "\r\n\n", "x"});
    CHECK(split("llama-bpe", "12345 (x)\n\n") == Words{"123", "45", " (", "x", ")\n\n"});
    CHECK(split("smollm", "a12 b") == Words{"a", "1", "2", " b"});
    CHECK(split("falcon", "ab, 1234") == Words{"ab", ",", " ", "123", "4"});
    CHECK(split("gpt-4o", "HelloWorld's/\n") == Words{"Hello", "World's", "/\n"});
    CHECK(split("default", "a b1234!") == Words{"a", " b", "123", "4", "!"});
}

TEST_CASE("white space is exactly Unicode's White_Space") {
    // U+0085 and U+3000 are White_Space; U+180E was until Unicode 6.3, and PCRE2's \s still takes it.
    CHECK(split("gpt-2", "a\u0085\u3000") == Words{"a", "\u0085\u3000"});
    CHECK(split("gpt-2", "a \u180e") == Words{"a", " \u180e"});
}

TEST_CASE("bytes that are not UTF-8 form separate words") {
    CHECK(split("gpt-2", "ab\xFF\xFE c\xE2\x82") == Words{"ab", "\xFF", "\xFE", " c", "\xE2\x82"});
    CHECK(split("smollm", "\xFF"
                          "1") == Words{"\xFF", "1"});
    CHECK(split("gpt-2", "").empty());
}

TEST_CASE("words joined are the text, for every row") {
    const std::string_view text = "  It's \u4f60\u597d 3.14,\r\n\t(\u00e9\u0301)\xFF !?<|x|>\u00bd  ";
    for (const PreTokenizerRow& row : pre_tokenizer_rows())
        CHECK(fmt::format("{}", fmt::join(split(row.names.front(), text), "")) == text);
}

TEST_CASE("every name is in one row") {
    std::set<std::string_view> names;
    for (const PreTokenizerRow& row : pre_tokenizer_rows()) {
        for (const std::string_view name : row.names)
            CHECK(names.insert(name).second);
    }
}

TEST_CASE("an unknown pre-tokenizer is refused by name, with the known ones") {
    const auto refused = PreTokenizer::create("no-such");
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::unsupported);
    CHECK(refused.error().message.find("no-such") != std::string::npos);
    CHECK(refused.error().hint.find("llama-bpe") != std::string::npos);
}

} // namespace etna::text

// Each family of published expressions, on texts that distinguish it from similar families. The words were
// derived by hand from the expressions, alternative by alternative.
#include "core/text/pre_tokenizer.hpp"
#include "tests/support/catch.hpp"

#include <ctime>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::text {
namespace {

using Words = std::vector<std::string_view>;
using Names = std::vector<std::string_view>;

struct Expectation {
    Names names;
    Words words;
};

void check(std::string_view text, const std::vector<Expectation>& expectations) {
    for (const Expectation& expectation : expectations) {
        for (const std::string_view name : expectation.names) {
            const auto pre_tokenizer = PreTokenizer::create(name);
            REQUIRE(pre_tokenizer);
            TokenizeBudget budget(CancelPoll{});
            Words words;
            REQUIRE(pre_tokenizer->split(text, budget, [&](std::string_view word) {
                words.push_back(word);
                return Status();
            }));
            INFO(fmt::format("{}: {:?}\nexpected {}\ngot      {}", name, text, expectation.words, words));
            CHECK(words == expectation.words);
        }
    }
}

// Rows of one expression, and rows that agree on most texts.
const Names gpt2 = {"gpt-2", "olmo"};
const Names digit = {"starcoder", "refact", "smollm", "command-r"};
const Names three = {"llama-bpe", "dbrx", "glm4", "chatglm-bpe"};
const Names one = {"qwen2", "stablelm2"};
const Names cased = {"gpt-4o", "llama4"};

Names together(std::initializer_list<Names> lists) {
    Names all;
    for (const Names& list : lists)
        all.insert(all.end(), list.begin(), list.end());
    return all;
}

} // namespace

TEST_CASE("contractions: by case, after a word or alone") {
    check("I'M we'll'X",
          {
              {together({gpt2, digit}), {"I", "'", "M", " we", "'ll", "'", "X"}},
              {together({three, one, {"qwen35", "tekken", "deepseek-v3"}}), {"I", "'M", " we", "'ll", "'X"}},
              {cased, {"I'M", " we'll", "'X"}},
              {{"deepseek-llm"}, {"I", "'", "M", " we", "'", "ll", "'", "X"}},
          });
}

TEST_CASE("digits: all together, in threes or alone") {
    check("v12345 678", {
                            {gpt2, {"v", "12345", " 678"}},
                            {together({three, cased, {"deepseek-v3"}}), {"v", "123", "45", " ", "678"}},
                            {together({digit, one, {"qwen35", "tekken", "deepseek-llm", "deepseek-coder"}}),
                             {"v", "1", "2", "3", "4", "5", " ", "6", "7", "8"}},
                            {{"falcon"}, {"v", "123", "45", " ", "678"}},
                        });
    // U+00BD and U+2167 are numbers but not digits; U+0663 is a digit beyond ASCII.
    check("\u00bd\u2167\u0663\u0663",
          {
              {together({three, cased, {"deepseek-v3"}}), {"\u00bd\u2167\u0663", "\u0663"}},
              {together({digit, one, {"qwen35", "tekken"}}), {"\u00bd", "\u2167", "\u0663", "\u0663"}},
              {gpt2, {"\u00bd\u2167\u0663\u0663"}},
          });
}

TEST_CASE("only DeepSeek separates East Asian scripts") {
    check("abc\u4e2d\u6587\u30ab\u30ca\ud55c\uad6dx",
          {
              {together({gpt2, digit, three, one, cased, {"qwen35", "tekken"}}),
               {"abc\u4e2d\u6587\u30ab\u30ca\ud55c\uad6dx"}},
              {{"deepseek-v3"}, {"abc", "\u4e2d\u6587\u30ab\u30ca", "\ud55c\uad6dx"}},
              {{"deepseek-llm", "deepseek-coder"}, {"abc", "\u4e2d\u6587\u30ab\u30ca\ud55c\uad6d", "x"}},
          });
}

TEST_CASE("punctuation includes a space before it, and sometimes newlines after it") {
    check("hi \U0001f642\U0001f642!\n",
          {
              {together({gpt2, digit}), {"hi", " \U0001f642\U0001f642!", "\n"}},
              {together({three, one, cased, {"qwen35", "tekken", "deepseek-v3"}}),
               {"hi", " \U0001f642\U0001f642!\n"}},
              {{"deepseek-llm"}, {"hi", " \U0001f642\U0001f642", "!", "\n"}},
          });
    check("x!/\n/", {
                        {together({gpt2, digit}), {"x", "!/", "\n", "/"}},
                        {together({three, one, {"qwen35", "deepseek-v3"}}), {"x", "!/\n", "/"}},
                        {together({cased, {"tekken"}}), {"x", "!/\n/"}},
                    });
}

TEST_CASE("runs of white space leave one space to the next word") {
    check("a   b\n\n  c \t",
          {
              {together({gpt2, digit}), {"a", "  ", " b", "\n\n ", " c", " \t"}},
              {together({three, one, cased, {"qwen35", "tekken", "deepseek-v3"}}),
               {"a", "  ", " b", "\n\n", " ", " c", " \t"}},
              {{"deepseek-llm", "deepseek-coder"}, {"a", "  ", " b", "\n", "\n", " ", " c", " \t"}},
          });
    check("\tx\r\n\r\ny",
          {
              {together({gpt2, digit}), {"\t", "x", "\r\n\r", "\n", "y"}},
              {together({three, one, cased, {"qwen35", "tekken", "deepseek-v3"}}), {"\tx", "\r\n\r\n", "y"}},
              {{"deepseek-llm"}, {"\tx", "\r", "\n", "\r", "\n", "y"}},
          });
}

TEST_CASE("only GPT-4o and Mistral split mixed case") {
    check("HelloWORLDfooBar \u01c5ungla",
          {
              {together({cased, {"tekken"}}), {"Hello", "WORLDfoo", "Bar", " \u01c5ungla"}},
              {together({gpt2, digit, three, one, {"qwen35", "deepseek-v3"}}),
               {"HelloWORLDfooBar", " \u01c5ungla"}},
          });
}

TEST_CASE("combining marks do or do not belong to the letter") {
    check("e\u0301a x\u0301",
          {
              {together({gpt2, digit, {"deepseek-llm"}}), {"e", "\u0301", "a", " x", "\u0301"}},
              {together({three, one}), {"e", "\u0301a", " x", "\u0301"}},
              {together({cased, {"qwen35", "tekken", "deepseek-v3"}}), {"e\u0301a", " x\u0301"}},
          });
}

TEST_CASE("DeepSeek V3 joins ASCII punctuation to ASCII letters, but not to others") {
    check("(foo_bar (\u00e9t\u00e9) $x",
          {
              {{"deepseek-v3"}, {"(foo", "_bar", " (", "\u00e9t\u00e9", ")", " $", "x"}},
              {together({three, one, {"qwen35"}}), {"(foo", "_bar", " (", "\u00e9t\u00e9", ")", " $", "x"}},
          });
    check("(\u00e9t\u00e9\u00a0\u00e9", {
                                            {{"deepseek-v3"}, {"(", "\u00e9t\u00e9", "\u00a0\u00e9"}},
                                            {three, {"(\u00e9t\u00e9", "\u00a0\u00e9"}},
                                        });
}

TEST_CASE("DeepSeek LLM splits words at letters in its punctuation ranges") {
    // ":-~" holds ASCII letters, so the word of the second expression is cut by the third.
    check(" caf\u00e9s", {{{"deepseek-llm"}, {" caf", "\u00e9", "s"}}});
    // Lower-case Armenian is not in the list of letters, upper-case is.
    check("\u0540a\u0561\u0562", {{{"deepseek-llm"}, {"\u0540", "a", "\u0561\u0562"}}});
    // Its East Asian range spans U+201C and U+3002 too, but not U+FF01.
    check("\uff01\u3002\u201c", {{{"deepseek-llm"}, {"\uff01", "\u3002\u201c"}}});
    check("1  \n", {{{"deepseek-llm"}, {"1", "  ", "\n"}}});
}

TEST_CASE("only Llama 3's and Mistral's rows map words in the vocabulary to their tokens and add BOS") {
    for (const PreTokenizerRow& row : pre_tokenizer_rows()) {
        const bool expected = row.names.front() == "llama-bpe" || row.names.front() == "tekken";
        INFO(row.names.front());
        CHECK((row.ignore_merges == IgnoreMerges::yes) == expected);
        CHECK((row.adds_bos == AddsBos::yes) == expected);
    }
}

TEST_CASE("every row splits a megabyte in time proportional to its length") {
    constexpr std::size_t text_bytes = std::size_t{1} << 20;
    constexpr double bound_s = 10; // for slow machines and sanitizers; quadratic time would take hours
    double slowest_s = 0;
    for (const PreTokenizerRow& row : pre_tokenizer_rows()) {
        const auto pre_tokenizer = PreTokenizer::create(row.names.front());
        REQUIRE(pre_tokenizer);
        for (const std::string_view unit : {" ", "\n ", "\t\x01", "a", "A", "1", "!", "\u0301", "\u4f60",
                                            "' ", "a\u0301", "\u3000\u4f60", "(", "\u00a0"}) {
            for (const std::string_view last : {"", "x", "1", "\u4f60", "!", "\x01"}) {
                std::string text;
                while (text.size() < text_bytes / 8)
                    text += unit;
                text += last;
                const auto start = std::clock();
                TokenizeBudget budget(CancelPoll{});
                const Status words =
                    pre_tokenizer->split(text, budget, [](std::string_view) { return Status(); });
                const double time_s = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC * 8;
                INFO(fmt::format("{}: {:?}..., {:?}: {} s for 1 MiB", row.names.front(), unit, last, time_s));
                REQUIRE(words);
                CHECK(time_s < bound_s);
                slowest_s = std::max(slowest_s, time_s);
            }
        }
    }
    std::cout << fmt::format("splitting 1 MiB took at most {:.2f} s of processor time\n", slowest_s);
}

TEST_CASE("Kimi K2 splits off Han, and words by case") {
    check("HelloWorld's\u4e2d\u6587\u3005ab\u30ab 1234/\n",
          {{{"kimi-k2"}, {"Hello", "World's", "\u4e2d\u6587\u3005", "ab\u30ab", " ", "123", "4", "/\n"}}});
    check(" \u4e2d\uac00\u4e2d x\u0301Y  z",
          {{{"kimi-k2"}, {" ", "\u4e2d", "\uac00", "\u4e2d", " x\u0301", "Y", " ", " z"}}});
    check("a\u3001\u4e2d\u3002", {{{"kimi-k2"}, {"a", "\u3001", "\u4e2d", "\u3002"}}});
}

} // namespace etna::text

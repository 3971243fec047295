// A finished answer is not lost: what does not parse is content, in every API.
#include "core/output/syntax.hpp"
#include "tests/server/answer_loss.hpp"
#include "tests/support/catch.hpp"

#include <random>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;

TEST_CASE("no text or call of a random output is lost, in any syntax and API") {
    const std::vector<std::string> pieces = {"<tool_call>",
                                             "</tool_call>",
                                             "{\"name\": \"f\", \"arguments\": {\"s\": \"a\"}}",
                                             "{\"name\": \"f\", ",
                                             "<think>",
                                             "</think>",
                                             "[TOOL_CALLS]",
                                             "[ARGS]",
                                             "f",
                                             "(s=\"a\")",
                                             "<function=f>",
                                             "<parameter=s>",
                                             "a",
                                             "</parameter>",
                                             "</function>",
                                             "<|tool_call>",
                                             "<|channel|>analysis<|message|>",
                                             "<|end|>",
                                             "<|python_tag|>",
                                             "[",
                                             "]",
                                             "}",
                                             "{",
                                             "\n",
                                             " ",
                                             "\"",
                                             "text ",
                                             "get_weather",
                                             "```json\n",
                                             "```",
                                             "<|call|>",
                                             "to=functions.f",
                                             "{\"s\": 1}",
                                             "\xc3\xa9"};
    std::minstd_rand random(7);
    for (std::size_t syntax = 0; syntax < output::syntaxes().size(); ++syntax) {
        for (int round = 0; round < 150; ++round) {
            const auto start = random() % 3 * output::syntaxes().size();
            std::string input(1, static_cast<char>(std::min<std::size_t>(syntax + start, 255)));
            for (std::size_t count = random() % 12; count > 0; --count)
                input += pieces[random() % pieces.size()];
            const auto lost = lost_answer(input);
            CAPTURE(input);
            CHECK(lost.value_or("") == "");
        }
    }
}

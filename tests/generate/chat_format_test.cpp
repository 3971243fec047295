#include "core/generate/chat_format.hpp"
#include "core/text/detokenizer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/text/small_vocabularies.hpp"

using namespace etna;

TEST_CASE("control tokens of calls are text only where tools are offered, those of reasoning always") {
    test::SmallVocabulary vocabulary = test::small_bpe();
    const TokenId call = vocabulary.add("<tool_call>", text::TokenType::control);
    const TokenId call_end = vocabulary.add("</tool_call>", text::TokenType::control);
    const TokenId think_end = vocabulary.add("</think>", text::TokenType::control);
    const auto tokenizer = test::build(vocabulary);
    REQUIRE(tokenizer.has_value());
    const test::Bytes bytes = test::GgufWriter().bytes();
    const auto formats = generate::ChatFormats::read(
        gguf::File::parse(bytes, "small").value(), *tokenizer,
        {.name = {}, .text = "{% if tools %}<tool_call>\n{\"name\": ...}\n</tool_call>{% endif %}<think>"});
    REQUIRE(formats.has_value());
    const auto format = formats->find({});
    REQUIRE(format.has_value());
    REQUIRE((*format)->syntax.name == "hermes");

    const std::vector<TokenId> answer = {'a', think_end, call, 'b', call_end};
    const auto decoded = [&](const std::vector<TokenId>& marks) {
        return text::decode(*tokenizer, answer, {.shown = marks});
    };
    CHECK(decoded((*format)->marks) == "a</think><tool_call>b</tool_call>");
    CHECK(decoded((*format)->marks_without_calls) == "a</think>b");
}

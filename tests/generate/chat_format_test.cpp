#include "core/generate/chat_format.hpp"
#include "core/output/parser.hpp"
#include "core/text/detokenizer.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/values.hpp"
#include "tests/text/small_vocabularies.hpp"

using namespace etna;

TEST_CASE("control tokens of calls are decoded only if tools are offered, those of reasoning always") {
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
    REQUIRE((*format)->output.syntax.name == "hermes");

    const std::vector<TokenId> answer = {'a', think_end, call, 'b', call_end};
    const auto decoded = [&](const std::vector<TokenId>& markers) {
        return text::decode(*tokenizer, answer, {.shown = markers});
    };
    CHECK(decoded((*format)->output.markers) == "a</think><tool_call>b</tool_call>");
    CHECK(decoded((*format)->output.markers_without_calls) == "a</think>b");
}

TEST_CASE("tools in the prompt text select Hermes calls with the model's own reasoning markers") {
    test::SmallVocabulary vocabulary = test::small_bpe();
    const TokenId think_end = vocabulary.add("</think>", text::TokenType::control);
    const TokenId call = vocabulary.add("<tool_call>", text::TokenType::control);
    const auto tokenizer = test::build(vocabulary);
    REQUIRE(tokenizer.has_value());
    const test::Bytes bytes = test::GgufWriter().bytes();
    const auto formats = generate::ChatFormats::read(
        gguf::File::parse(bytes, "small").value(), *tokenizer,
        {.name = {},
         .text = "{% for m in messages %}<|user|>{{ m.content }}{% endfor %}<|assistant|><think>"});
    REQUIRE(formats.has_value());
    const auto format = formats->find({.tools = true});
    REQUIRE(format.has_value());
    const generate::OutputFormat& output = (*format)->output_for_tools_in_text;
    CHECK(output.syntax.name == "hermes");
    CHECK(text::decode(*tokenizer, std::vector{think_end, call}, {.shown = output.markers}) ==
          "</think><tool_call>");
    CHECK(output::start_after(output.syntax, "<think>") == output::Start::reasoning);
    const auto tools = test::values_of(R"([{"name": "f"}])");
    auto parser = output::Parser::create(output.syntax, {.tools = tools});
    REQUIRE(parser.has_value());
    output::Collector collector;
    collector.add(parser->push(
        "because</think>\n\nThe answer<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>"));
    collector.add(parser->finish(output::Ending::complete));
    CHECK(collector.output().content == "The answer");
    CHECK(collector.output().reasoning == "because");
    CHECK(collector.output().calls.size() == 1);
}

// Answers constrained by a grammar: with the model's own tokens, after its reasoning, for several choices.

#include "core/generate/generation.hpp"
#include "tests/generate/scripted_model.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/values.hpp"

#include <map>
#include <string>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::generate;
using grammar::Description;
using grammar::Notation;
using test::Events;

namespace {

constexpr const char* plain_template = "{% for m in messages %}{{ m.content }}{% endfor %}";

Request structured(Description description, float temperature = 0) {
    Request request = test::raw("Once");
    request.sampling.temperature = temperature;
    request.sampling.top_k = 0;
    request.sampling.top_p = 1.0F;
    request.sampling.min_p = 0.0F;
    request.max_tokens = 60;
    request.grammar = std::move(description);
    return request;
}

Events answer(const Model& model, const Request& request) {
    Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    REQUIRE(events.finished.size() == 1);
    return events;
}

Request conversation(Description description) {
    Request request = structured(std::move(description));
    request.prompt = chat::Conversation{.messages = {{.role = chat::Role::user, .content = "Well?"}}};
    return request;
}

} // namespace

TEST_CASE("a grammar of choices yields one of them, whatever the model prefers") {
    const Model model = test::model_that_says(test::story);
    const Description choices = {.notation = Notation::choices, .choices = {"yes", "no", " there was a cat"}};
    const Events likeliest = answer(model, structured(choices));
    CHECK(likeliest.text() == " there was a cat"); // shares its start with the model's preferred answer
    CHECK(likeliest.finished[0].finish_reason == FinishReason::stop);
    std::map<std::string, int> seen;
    for (uint32_t seed = 0; seed < 40; ++seed) {
        Request request = structured(choices, 20);
        request.seed = seed;
        ++seen[answer(model, request).text()];
    }
    CHECK(seen.size() == 3);
    for (const auto& [text, count] : seen)
        CHECK((text == "yes" || text == "no" || text == " there was a cat"));
}

TEST_CASE("SentencePiece's invisible leading space does not count against the grammar") {
    const Model model = test::model_that_says(test::story, plain_template);
    const Description choices = {.notation = Notation::choices, .choices = {"yes", "there was a cat"}};
    CHECK(answer(model, conversation(choices)).finished[0].output.content == "there was a cat");
}

TEST_CASE("answers match their schema at any temperature, or are cut off") {
    const Model model = test::model_that_says(test::story);
    const Description schema = {
        .text = R"({"type": "object", "required": ["a", "b"], "additionalProperties": false, "properties":
                {"a": {"type": "array", "items": {"type": "boolean"}, "maxItems": 3}, "b": {"enum": ["x", 5, null]}}})"};
    int complete = 0;
    for (uint32_t seed = 0; seed < 60; ++seed) {
        Request request = structured(schema, 1.5F);
        request.seed = seed;
        const Events events = answer(model, request);
        CAPTURE(events.text());
        if (events.finished[0].finish_reason == FinishReason::length)
            continue;
        ++complete;
        const auto json = nlohmann::json::parse(events.text());
        CHECK(json.size() == 2);
        CHECK(json["a"].size() <= 3);
        CHECK((json["b"] == "x" || json["b"] == 5 || json["b"].is_null()));
    }
    CHECK(complete > 30);
}

TEST_CASE("the grammar constrains each choice separately") {
    const Model model = test::model_that_says(test::story);
    Request request = structured({.notation = Notation::regex, .text = "[a-c]{2}[0-9]"}, 3);
    request.choices = 4;
    auto generation = Generation::begin(model, request);
    REQUIRE(generation.has_value());
    std::map<uint32_t, std::string> texts;
    REQUIRE(generation
                ->finish([&](uint32_t choice, const Event& event) {
                    if (const auto* delta = std::get_if<TextDelta>(&event))
                        texts[choice] += delta->text;
                    return SinkResult::proceed;
                })
                .has_value());
    REQUIRE(texts.size() == 4);
    for (const auto& [choice, text] : texts) {
        CAPTURE(text);
        CHECK((text.size() == 3 && text[0] >= 'a' && text[0] <= 'c' && text[2] >= '0' && text[2] <= '9'));
    }
}

TEST_CASE("reasoning is unconstrained, and the answer after it is constrained") {
    const std::string thinking = std::string(plain_template) + "<think>\n{# </think> #}";
    const Model model =
        test::model_that_says("I think there was a cat.</think>\n\nthere was a dog", thinking);
    const Events events =
        answer(model, conversation({.notation = Notation::choices, .choices = {"yes", "there was a cat"}}));
    const auto& output = events.finished[0].output;
    CHECK(output.reasoning.find("I think there was a cat.") != std::string::npos);
    CHECK(output.content == "there was a cat");
    CHECK(events.finished[0].finish_reason == FinishReason::stop);
}

TEST_CASE("a constrained answer begins with reasoning only on request") {
    const std::string switched =
        std::string(plain_template) +
        "{% if enable_thinking is defined and not enable_thinking %}(quiet){% endif %}"
        "{# <think> </think> #}";
    for (const std::string& chat_template :
         {switched, std::string(plain_template) + "{# <think> </think> #}"}) {
        const bool has_switch = chat_template == switched;
        const Model model = test::model_that_says("<think>a cat.</think>\n\nyes", chat_template);
        Request request = conversation({.notation = Notation::choices, .choices = {"yes", "<no"}});
        auto& thinking = std::get<chat::Conversation>(request.prompt).thinking;
        const auto has_reasoning = [&] {
            const auto& output = answer(model, request).finished[0].output;
            CHECK((output.content == "yes" || output.content == "<no"));
            return !output.reasoning.empty();
        };
        const auto is_quiet = [&] {
            return encode(model, request).value().text.find("(quiet)") != std::string::npos;
        };
        CAPTURE(has_switch);
        CHECK_FALSE(has_reasoning()); // it was not requested
        CHECK(is_quiet() == has_switch);
        thinking = chat::Thinking::off;
        CHECK_FALSE(has_reasoning());
        thinking = chat::Thinking::on;
        CHECK(has_reasoning());
        CHECK_FALSE(is_quiet());
        // Without a grammar the template decides, and the model thinks.
        thinking = chat::Thinking::template_default;
        request.grammar.reset();
        CHECK(answer(model, request).finished[0].output.reasoning == "a cat.");
        CHECK_FALSE(is_quiet());
    }
}

TEST_CASE("JSON has no more white space than its amount allows") {
    const Description schema = {.text = R"({"type": "object", "properties": {"a": {"type": "array",
        "items": {"const": 1}, "minItems": 2, "maxItems": 2}}, "required": ["a"], "additionalProperties": false})"};
    const Model model = test::model_that_says("{\n    \"a\":  [1,\n        1]\n}", plain_template, 512);
    const auto content = [&](grammar::JsonSpacing spacing) {
        Request request = conversation(schema);
        request.json_spacing = spacing;
        request.logprobs = 0; // disables forced text, so that the model follows its script
        return answer(model, request).finished[0].output.content;
    };
    CHECK(content(grammar::JsonSpacing::none) == R"({"a":[1,1]})");
    const std::string single = content(grammar::JsonSpacing::single);
    CAPTURE(single);
    CHECK((single.find("  ") == std::string::npos && single.find("\n ") == std::string::npos));
    CHECK(single.find('\n') != std::string::npos);
    CHECK(content(grammar::JsonSpacing::any).find("\n    \"a\"") != std::string::npos);
}

TEST_CASE("a schema that cannot be enforced is refused before anything is generated") {
    const Model model = test::model_that_says(test::story, plain_template, 1024);
    const auto refusal = [&](const Request& request) {
        auto generation = Generation::begin(model, request);
        REQUIRE_FALSE(generation.has_value());
        return generation.error();
    };
    CHECK(refusal(structured({.text = R"({"type": "array", "uniqueItems": true})"}))
              .message.find("#/uniqueItems") == 0);
    CHECK(refusal(structured({.notation = Notation::regex, .text = "("})).kind ==
          ErrorKind::invalid_argument);
    Request with_tools = conversation({.notation = Notation::regex, .text = "a"});
    auto& asked = std::get<chat::Conversation>(with_tools.prompt);
    asked.tools = test::values_of(
        R"([{"type": "function", "function": {"name": "f", "parameters": {"uniqueItems": true}}},
        {"name": "g", "parameters": {"properties": {"a": {"type": "array", "uniqueItems": true}}}}])");
    CHECK(Generation::begin(model, with_tools).has_value()); // arguments are not constrained
    asked.required_tool = "g";
    CHECK(refusal(with_tools).message.find("tools[1].parameters: #/properties/a/uniqueItems") == 0);
    with_tools.has_lenient_tools = true;
    CHECK(Generation::begin(model, with_tools).has_value());
}

namespace {

constexpr const char* call_template = "{% for m in messages %}{{ m.content }}{% endfor %}{# <tool_call> #}";
constexpr const char* digit_tool =
    R"([{"type": "function", "function": {"name": "count", "strict": true, "parameters":
    {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 9}}, "required": ["n"],
     "additionalProperties": false}}}])";

Request with_tool(std::optional<std::string> demanded, uint32_t seed) {
    Request request = test::raw("");
    request.sampling = {.temperature = 1.5F, .top_k = 0, .top_p = 1.0F, .min_p = 0.0F};
    request.max_tokens = 200;
    request.seed = seed;
    request.prompt = chat::Conversation{.messages = {{.role = chat::Role::user, .content = "Well?"}},
                                        .tools = test::values_of(digit_tool),
                                        .required_tool = std::move(demanded),
                                        .calls = chat::CallCount::one};
    return request;
}

} // namespace

TEST_CASE("a required call is valid or absent at any temperature") {
    const Model model = test::model_that_says(test::story, call_template, 1024);
    int complete = 0;
    for (uint32_t seed = 0; seed < 20; ++seed) {
        const Events events = answer(model, with_tool("", seed));
        const Finished& last = events.finished[0];
        CAPTURE(seed, last.tokens.size());
        CHECK(events.text().empty());
        if (last.finish_reason == FinishReason::length) {
            CHECK(last.output.calls.empty());
            continue;
        }
        ++complete;
        CHECK(last.finish_reason == FinishReason::tool_calls);
        REQUIRE(last.output.calls.size() == 1);
        CHECK(last.output.calls[0].name == "count");
        const auto arguments = nlohmann::json::parse(last.output.calls[0].arguments);
        CHECK((arguments.size() == 1 && arguments["n"] >= 0 && arguments["n"] <= 9));
    }
    CHECK(complete > 10);
}

TEST_CASE("a reasoning model may reason before a required call") {
    const std::string thinking = std::string(call_template) + "<think>\n{# </think> #}";
    const Model model = test::model_that_says("I think.</think>\n\n<tool_call>\n{\"name\": \"count\", "
                                              "\"arguments\": {\"n\": 3}}\n</tool_call>",
                                              thinking, 1024);
    Request request = with_tool("count", 0);
    request.sampling.temperature = 0.0F;
    const Finished last = answer(model, request).finished[0];
    CHECK(last.output.reasoning.find("I think.") != std::string::npos);
    CHECK(last.output.content.empty());
    REQUIRE(last.output.calls.size() == 1);
    CHECK(last.output.calls[0].arguments == R"({"n": 3})");
}

TEST_CASE("a model that writes messages with headers follows a schema, and required calls") {
    const std::string harmony =
        "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.content }}"
        "{% endfor %}<|start|>assistant{# <|channel|><|message|> #}";
    const Model model = test::model_that_says(
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>{\"a\": 1}",
        harmony, 1024);
    Request request = conversation({.text = R"({"type": "object", "properties": {"a": {"type": "integer"}},
        "required": ["a"], "additionalProperties": false})"});
    request.max_tokens = 200;
    const Finished last = answer(model, request).finished[0];
    CHECK(last.output.reasoning == "Hm.");
    CHECK(last.output.content == R"({"a": 1})");
    const Model caller = test::model_that_says(
        "<|channel|>commentary to=functions.count <|constrain|>json<|message|>{\"n\": 7}", harmony, 1024);
    Request requiring = with_tool("", 0);
    requiring.sampling.temperature = 0.0F;
    requiring.logprobs = 0; // disables forced text, so that the model follows its script
    const Finished called = answer(caller, requiring).finished[0];
    REQUIRE(called.output.calls.size() == 1);
    CHECK(called.output.calls[0].arguments == R"({"n": 7})");
}

TEST_CASE("stop strings, limits and log-probabilities work with a grammar") {
    const Model model = test::model_that_says(test::story);
    const Description schema = {.text = R"({"type": "array", "items": {"const": "ab"}, "minItems": 50})"};
    Request request = structured(schema);
    request.max_tokens = 9;
    CHECK(answer(model, request).finished[0].finish_reason == FinishReason::length);
    request.max_tokens = 60;
    request.stop = {"b\","};
    const Events stopped = answer(model, request);
    CHECK(stopped.finished[0].finish_reason == FinishReason::stop);
    CHECK(stopped.finished[0].matched == "b\",");
    request.stop = {};
    request.logprobs = 2;
    const Events scored = answer(model, request);
    REQUIRE(scored.tokens.size() == 60);
    CHECK(scored.tokens[0].top.size() == 2); // as the model gave them, before the grammar
}

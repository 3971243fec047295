// The limit on the reasoning of an answer.
#include "tests/generate/scripted_model.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/values.hpp"

#include <atomic>
#include <limits>
#include <memory>
#include <string>

using namespace etna;
using namespace etna::generate;
using test::Events;
using test::open_template;
using test::thinking_template;

namespace {

constexpr const char* harmony_template =
    "{% for m in messages %}<|start|>user<|message|>{{ m.content }}<|end|>{% endfor %}<|start|>assistant"
    "{# <|channel|>analysis to=functions. <|call|> <|return|> #}";
constexpr const char* long_thought =
    "the dog was big and the cat was small and the sun was up and the day was good and it was so nice to see";

Request thinking_request(std::optional<uint32_t> tokens_max) {
    chat::Conversation conversation;
    conversation.messages.push_back({.role = chat::Role::user, .content = "Go"});
    Request request;
    request.prompt = std::move(conversation);
    request.sampling.temperature = 0.0F;
    request.seed = 7;
    request.max_tokens = 120;
    if (tokens_max)
        request.reasoning = ReasoningLimit{.tokens_max = tokens_max};
    return request;
}

Finished limited_answer(const Model& model, const Request& request) {
    Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    REQUIRE(events.finished.size() == 1);
    return events.finished[0];
}

std::size_t token_count(const Model& model, const std::string& text) {
    return model.file().tokenizer.encode(text, {.bos = text::AddBos::never}).value().size();
}

} // namespace

TEST_CASE("reasoning is closed at its limit, and the answer follows") {
    for (const auto& [chat_template, opening] :
         {std::pair(open_template, ""), std::pair(thinking_template, "<think>")}) {
        const Model model = test::model_that_says(opening + std::string(long_thought), chat_template, 512);
        const std::string all = limited_answer(model, thinking_request(std::nullopt)).output.reasoning;
        REQUIRE(all.find("nice to see") != std::string::npos);
        for (const uint32_t limit : {0U, 1U, 5U, 12U}) {
            CAPTURE(opening, limit);
            const Finished last = limited_answer(model, thinking_request(limit));
            CHECK(all.starts_with(last.output.reasoning));
            CHECK(last.output.reasoning.size() < all.size());
            CHECK(last.output.reasoning.empty() == (limit == 0));
            CHECK(last.output.content.find("to see") != std::string::npos);
            CHECK(last.output.content.find('<') == std::string::npos);
        }
        CHECK(limited_answer(model, thinking_request(1000)).output.reasoning == all);
    }
}

TEST_CASE("reasoning that ends before its limit is left alone") {
    const Model model = test::model_that_says("the dog</think>it was big", open_template, 512);
    const Finished last = limited_answer(model, thinking_request(30));
    CHECK(last.output.reasoning == "the dog");
    CHECK(last.output.content == "it was big");
}

TEST_CASE("a message may end the reasoning") {
    const Model model = test::model_that_says(long_thought, open_template, 512);
    Request request = thinking_request(6);
    request.reasoning->message = " So, the answer.";
    const Finished last = limited_answer(model, request);
    CHECK(last.output.reasoning.ends_with(" So, the answer."));
    CHECK(last.output.content.find("So, the answer.") == std::string::npos);
    request.reasoning->message = "a</think>b";
    CHECK(Generation::begin(model, request).error().message.find("</think>") != std::string::npos);
    request.reasoning->message.assign(reasoning_message_bytes_max + 1, 'a');
    CHECK(Generation::begin(model, request).error().kind == ErrorKind::invalid_argument);
}

TEST_CASE("reasoning that opens again is closed at once") {
    const Model model = test::model_that_says(
        "<think>a dog</think>\n<think>and a cat and a sun</think>the day", thinking_template, 512);
    const std::string all = limited_answer(model, thinking_request(std::nullopt)).output.reasoning;
    REQUIRE(all.find("and a sun") != std::string::npos);
    const std::string some =
        limited_answer(model, thinking_request(token_count(model, "a dog"))).output.reasoning;
    CHECK(some.find("and a sun") == std::string::npos);
}

TEST_CASE("limited reasoning precedes a constrained answer, and a call") {
    const Model model = test::model_that_says(long_thought, open_template, 512);
    Request request = thinking_request(4);
    request.grammar = grammar::Description{.notation = grammar::Notation::choices, .choices = {"yes", "no"}};
    std::get<chat::Conversation>(request.prompt).thinking = chat::Thinking::on;
    for (const bool has_logprobs : {false, true}) {
        if (has_logprobs)
            request.logprobs = 1; // nothing else is forced
        const Finished last = limited_answer(model, request);
        CHECK(last.finish_reason == FinishReason::stop);
        CHECK_FALSE(last.output.reasoning.empty());
        CHECK((last.output.content == "yes" || last.output.content == "no"));
    }
    const Model caller =
        test::model_that_says(long_thought, std::string(open_template) + "{# <tool_call> #}", 1024);
    Request calling = thinking_request(4);
    auto& conversation = std::get<chat::Conversation>(calling.prompt);
    conversation.tools = test::values_of(R"([{"type": "function", "function": {"name": "roll", "strict": true,
        "parameters": {"type": "object", "properties": {}, "additionalProperties": false}}}])");
    conversation.required_tool = "roll";
    calling.max_tokens = 400;
    const Finished last = limited_answer(caller, calling);
    CHECK_FALSE(last.output.reasoning.empty());
    REQUIRE(last.output.calls.size() == 1);
    CHECK(last.output.calls[0].name == "roll");
}

TEST_CASE("reasoning in a message is closed by the header of the next one") {
    const Model model = test::model_that_says("<|channel|>analysis<|message|>" + std::string(long_thought),
                                              harmony_template, 1024);
    const Finished whole = limited_answer(model, thinking_request(std::nullopt));
    REQUIRE(whole.output.content.empty());
    REQUIRE(whole.output.reasoning.find("to see") != std::string::npos);
    Request request = thinking_request(5);
    Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    const std::string text = text::decode(model.file().tokenizer, events.finished[0].tokens);
    CHECK(text.find("<|end|><|start|>assistant<|channel|>final") != std::string::npos);
    CHECK(whole.output.reasoning.starts_with(events.finished[0].output.reasoning));
    // With tools the model chooses the next message; only reasoning that opens again is followed by the
    // answer.
    std::get<chat::Conversation>(request.prompt).tools =
        test::values_of(R"([{"type": "function", "function": {"name": "roll", "parameters": {}}}])");
    const std::string open = text::decode(model.file().tokenizer, limited_answer(model, request).tokens);
    CAPTURE(open);
    const std::size_t chosen = open.find("<|end|><|start|>assistant");
    REQUIRE(chosen != std::string::npos);
    const std::string_view next = std::string_view(open).substr(chosen);
    CHECK_FALSE(next.starts_with("<|end|><|start|>assistant<|channel|>final"));
    if (next.starts_with("<|end|><|start|>assistant<|channel|>analysis"))
        CHECK(next.find("<|end|><|start|>assistant<|channel|>final") != std::string::npos);
}

TEST_CASE("reasoning is closed when another thread asks for it") {
    const Model model = test::model_that_says(long_thought, open_template, 512);
    const auto is_over = std::make_shared<std::atomic<bool>>(false);
    Request request = thinking_request(std::nullopt);
    request.reasoning = ReasoningLimit{.is_over = is_over};
    CHECK(limited_answer(model, request).output.content.empty());
    *is_over = true;
    CHECK_FALSE(limited_answer(model, request).output.content.empty());
}

TEST_CASE("a bias does not keep the reasoning open, nor does a minimum of tokens") {
    const Model model = test::model_that_says(long_thought, open_template, 512);
    Request request = thinking_request(5);
    const auto plain = limited_answer(model, request).output;
    request.logit_bias = {{.token = 300, .bias = -1}};
    request.min_tokens = 20;
    const auto biased = limited_answer(model, request).output;
    CHECK(biased.reasoning == plain.reasoning);
    CHECK(biased.content == plain.content);
}

TEST_CASE("a stray end of reasoning after empty reasoning does not turn the answer into reasoning") {
    const Model model =
        test::model_that_says(std::string(long_thought) + "</think>the last", open_template, 512);
    const Finished last = limited_answer(model, thinking_request(0));
    CHECK(last.output.reasoning.empty());
    CHECK(last.output.content.find("nice to see\n\nthe last") != std::string::npos);
}

TEST_CASE("a ban of what closes the reasoning is refused") {
    const Model model = test::model_that_says(long_thought, open_template, 512);
    Request request = thinking_request(5);
    const auto close = model.file().tokenizer.encode("</think>", {.bos = text::AddBos::never}).value();
    request.logit_bias = {{.token = close.back(), .bias = -std::numeric_limits<float>::infinity()}};
    const auto refused = Generation::begin(model, request);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().message.find("closes the reasoning") != std::string::npos);
}

TEST_CASE("a limit of the reasoning has no effect on a raw prompt, and excludes beams") {
    const Model model = test::model_that_says(long_thought, open_template, 512);
    Request plain = test::raw("Go<think>\n");
    plain.max_tokens = 20;
    plain.sampling.temperature = 0.0F;
    Request limited = plain;
    limited.reasoning = ReasoningLimit{.tokens_max = 2};
    CHECK(limited_answer(model, limited).tokens == limited_answer(model, plain).tokens);
    limited.beams = engine::BeamOptions{.width = 2};
    CHECK(Generation::begin(model, limited).error().message.find("beam") != std::string::npos);
}

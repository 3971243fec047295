// Stop strings act on the content of an answer: not on reasoning, not on calls, and not on their markers.
#include "tests/generate/scripted_model.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/values.hpp"

#include <string>
#include <vector>

using namespace etna;
using namespace etna::generate;
using test::Events;
using test::open_template;
using test::thinking_template;

namespace {

constexpr const char* calling_template =
    "{% for m in messages %}{{ m.content }}{% endfor %}{# <tool_call> <think></think> #}";

Request asking(std::vector<std::string> stop) {
    chat::Conversation conversation;
    conversation.messages.push_back({.role = chat::Role::user, .content = "Go"});
    Request request;
    request.prompt = std::move(conversation);
    request.sampling.temperature = 0.0F;
    request.seed = 7;
    request.max_tokens = 200;
    request.stop = std::move(stop);
    return request;
}

Request asking_with_tool(std::vector<std::string> stop) {
    Request request = asking(std::move(stop));
    std::get<chat::Conversation>(request.prompt).tools =
        test::values_of(R"([{"type": "function", "function": {"name": "roll", "parameters": {}}}])");
    return request;
}

Events stopped_answer(const Model& model, const Request& request) {
    Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    return events;
}

constexpr const char* call = "<tool_call>\n{\"name\": \"roll\", \"arguments\": {\"sides\": 6}}\n</tool_call>";

} // namespace

TEST_CASE("a stop string in the reasoning does not end the answer, and in the content it does") {
    const std::string thoughts = "Big is 12.7 so\n\nthe first wins";
    for (const auto& [chat_template, opening] :
         {std::pair(thinking_template, "<think>\n"), std::pair(open_template, "")}) {
        const Model model = test::model_that_says(
            opening + thoughts + "\n</think>\n\nSo 12.7 it is,\n\nthe larger one.", chat_template, 512);
        const std::pair<std::string, std::string> cases[] = {
            {"12.7", "So "},
            {"\n\n", "So 12.7 it is,"}, // the white space after the marker is not content
            {"the", "So 12.7 it is,\n\n"},
            {"So", ""},
            {"one.", "So 12.7 it is,\n\nthe larger "}};
        for (const auto& [stop, content] : cases) {
            CAPTURE(chat_template, stop);
            const Events events = stopped_answer(model, asking({stop}));
            const Finished& last = events.finished[0];
            CHECK(events.text() == content);
            CHECK(last.output.content == content);
            CHECK(last.output.reasoning == thoughts);
            CHECK((last.finish_reason == FinishReason::stop && last.matched == stop));
        }
        // No stop string spans the marker or is found in it.
        for (const char* stop : {"wins\n</think>", "</think>", "think", "wins\n\nSo", "winsSo"}) {
            CAPTURE(chat_template, stop);
            const Finished last = stopped_answer(model, asking({stop})).finished[0];
            CHECK(last.output.content == "So 12.7 it is,\n\nthe larger one.");
            CHECK((last.finish_reason == FinishReason::stop && last.matched.empty()));
        }
    }
}

TEST_CASE("stop strings end an answer in its reasoning if that is requested") {
    const Model model =
        test::model_that_says("<think>\nBig is 12.7</think>\n\nSo 12.7 it is.", thinking_template, 512);
    Request request = asking({"12.7"});
    request.stop_scope = StopScope::all_text;
    const Finished last = stopped_answer(model, request).finished[0];
    CHECK(last.output.reasoning == "Big is");
    CHECK(last.output.content.empty());
    CHECK(last.matched == "12.7");
}

TEST_CASE("a stop string inside a call does not end the answer") {
    const Model model = test::model_that_says(std::string("I roll.\n\n") + call, calling_template, 512);
    for (const char* stop : {"roll\"", "6", "\n{", "}\n", "tool_call", "\": ", "\n\n", ".\n"}) {
        CAPTURE(stop);
        const Events events = stopped_answer(model, asking_with_tool({stop}));
        const Finished& last = events.finished[0];
        CHECK(last.finish_reason == FinishReason::tool_calls);
        CHECK(events.text() == "I roll.");
        REQUIRE(last.output.calls.size() == 1);
        CHECK(last.output.calls[0].arguments == "{\"sides\": 6}");
    }
    const Finished stopped = stopped_answer(model, asking_with_tool({"roll"})).finished[0];
    CHECK(stopped.output.content == "I ");
    CHECK((stopped.finish_reason == FinishReason::stop && stopped.output.calls.empty()));
    Request everywhere = asking_with_tool({"6"});
    everywhere.stop_scope = StopScope::all_text;
    CHECK(stopped_answer(model, everywhere).finished[0].finish_reason == FinishReason::stop);
}

TEST_CASE("text that may begin a stop string comes before the call that follows it") {
    const Model model = test::model_that_says(std::string("I roll") + call, calling_template, 512);
    std::vector<std::string> order;
    const auto sink = [&](const Event& event) {
        if (const auto* text = std::get_if<TextDelta>(&event))
            order.push_back(text->text);
        if (const auto* output = std::get_if<output::Event>(&event))
            order.emplace_back(output->kind == output::EventKind::call_started ? "call" : "");
        return SinkResult::proceed;
    };
    REQUIRE(generate::generate(model, asking_with_tool({"roll the dice"}), sink).has_value());
    std::string before;
    for (std::size_t i = 0; i < order.size() && order[i] != "call"; ++i)
        before += order[i];
    CHECK(before == "I roll");
}

TEST_CASE("an included stop string is part of the content") {
    const Model model =
        test::model_that_says("<think>12.7</think>\n\nSo 12.7 it is.", thinking_template, 512);
    Request request = asking({"12.7"});
    request.matched_stop = MatchedStop::included;
    const Events events = stopped_answer(model, request);
    CHECK(events.text() == "So 12.7");
    CHECK(events.finished[0].output.content == "So 12.7");
}

TEST_CASE("a stop string of white space ends the content at once") {
    const Model model = test::model_that_says("One \n\n\n\n\n\n\nTwo", thinking_template, 512);
    const Events events = stopped_answer(model, asking({"\n"}));
    CHECK(events.text() == "One ");
    const auto all =
        model.file().tokenizer.encode("One \n\n\n\n\n\n\nTwo", {.bos = text::AddBos::never}).value();
    CHECK(events.finished[0].tokens.size() < all.size() - 6); // no further white space was generated
}

TEST_CASE("a hypothesis of a beam search ends at a stop string in its content") {
    const Model model =
        test::model_that_says("<think>\na dog</think>\n\nThe dog was big.", thinking_template, 512);
    Request request = asking({"dog"});
    request.max_tokens = 60;
    request.choices = 2;
    request.beams = engine::BeamOptions{.width = 3};
    std::vector<Finished> ends(2);
    auto generation = Generation::begin(model, request);
    REQUIRE(generation.has_value());
    REQUIRE(generation
                ->finish([&](uint32_t choice, const Event& event) {
                    if (const auto* finished = std::get_if<Finished>(&event))
                        ends.at(choice) = *finished;
                    return SinkResult::proceed;
                })
                .has_value());
    CHECK(ends[0].output.reasoning == "a dog");
    CHECK(ends[0].output.content == "The ");
    CHECK((ends[0].finish_reason == FinishReason::stop && ends[0].matched == "dog"));
    CHECK(text::decode(model.file().tokenizer, ends[0].tokens).ends_with("dog"));
    Request everywhere = request;
    everywhere.stop_scope = StopScope::all_text;
    auto early = Generation::begin(model, everywhere);
    REQUIRE(early.has_value());
    REQUIRE(early
                ->finish([&](uint32_t choice, const Event& event) {
                    if (const auto* finished = std::get_if<Finished>(&event))
                        ends.at(choice) = *finished;
                    return SinkResult::proceed;
                })
                .has_value());
    CHECK(ends[0].output.content.empty());
}

TEST_CASE("final tokens are those whose text no stop string removed") {
    const Model model =
        test::model_that_says("<think>\na dog</think>\n\nThe dog was big.", thinking_template, 512);
    for (const StopScope scope : {StopScope::content, StopScope::all_text}) {
        Request request = asking({"dog"});
        request.logprobs = 0;
        request.stop_scope = scope;
        std::vector<TokenId> tokens;
        std::size_t count = 0;
        const auto sink = [&](const Event& event) {
            if (const auto* token = std::get_if<TokenDelta>(&event))
                tokens.push_back(token->chosen.token);
            if (const auto* final = std::get_if<FinalTokens>(&event)) {
                CHECK((final->count > count && final->count <= tokens.size()));
                count = final->count;
            }
            return SinkResult::proceed;
        };
        REQUIRE(generate::generate(model, request, sink).has_value());
        tokens.resize(count);
        const std::string text = text::decode(model.file().tokenizer, tokens);
        CAPTURE(text);
        const std::string kept = scope == StopScope::content ? "\n\nThe " : "<think>\na ";
        CHECK(text.find(kept) != std::string::npos);
        CHECK(text.size() - text.find(kept) - kept.size() < 3); // a token may begin before the stop string
    }
}

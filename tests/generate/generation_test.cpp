// What programs ask for beyond a text after a prompt: several answers, other ends, demanded calls.

#include "core/generate/generation.hpp"
#include "tests/generate/answers.hpp"
#include "tests/support/catch.hpp"

#include <map>

using namespace etna;
using namespace etna::generate;
using test::Events;

namespace {

constexpr const char* story = "there was a dog. The dog was big.";

Request greedy(std::string prompt) {
    Request request = test::raw(std::move(prompt));
    request.sampling.temperature = 0.0F;
    return request;
}

std::string text_of(const Model& model, const Request& request) {
    Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    return events.text();
}

} // namespace

TEST_CASE("choices come side by side, each with its own seed and end") {
    const Model model = test::model_that_says(story);
    Request request = greedy("Once");
    request.choices = 3;
    request.seed = 40;
    request.max_tokens = 6;
    auto generation = Generation::begin(model, request);
    REQUIRE(generation.has_value());
    CHECK(generation->prompt_text() == "Once");
    CHECK(generation->prompt_tokens().size() == 2);
    std::map<uint32_t, std::string> texts;
    std::map<uint32_t, Finished> ends;
    const Status status = generation->finish([&](uint32_t choice, const Event& event) {
        if (const auto* delta = std::get_if<TextDelta>(&event))
            texts[choice] += delta->text;
        if (const auto* finished = std::get_if<Finished>(&event))
            CHECK(ends.emplace(choice, *finished).second);
        return choice == 1 ? Flow::stop : Flow::go_on; // ends this one alone
    });
    REQUIRE(status.has_value());
    REQUIRE(ends.size() == 3);
    CHECK(texts[0] == texts[2]);
    CHECK(texts[1].size() < texts[0].size());
    CHECK(ends[0].finish_reason == FinishReason::length);
    CHECK(ends[1].finish_reason == FinishReason::cancelled);
    CHECK(ends[2].tokens.size() == 6);
    CHECK((ends[0].seed == 40 && ends[1].seed == 41 && ends[2].seed == 42));
}

TEST_CASE("a stop string may be part of the answer, and is told") {
    const Model model = test::model_that_says(story);
    Request request = greedy("Once");
    request.stop = {" The"};
    Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    CHECK(events.text() == " there was a dog.");
    CHECK(events.finished.at(0).matched == " The");
    request.matched_stop = MatchedStop::included;
    CHECK(text_of(model, request) == " there was a dog. The");
}

TEST_CASE("nothing ends an answer before its least length") {
    const Model model = test::model_that_says("dog");
    Request request = greedy("Once");
    CHECK(text_of(model, request) == " dog");
    request.min_tokens = 5;
    Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    CHECK(events.finished.at(0).tokens.size() >= 5);
    const Model longer = test::model_that_says(story);
    request.stop = {"dog"};
    const auto until_first = longer.tokenizer().encode("there was a dog", {.bos = text::AddBos::never});
    request.min_tokens = static_cast<uint32_t>(until_first->size());
    CHECK(text_of(longer, request) == " there was a dog. The "); // the second dog ends it
}

TEST_CASE("end tokens can be gone past, and other tokens can end an answer") {
    const Model model = test::model_that_says("dog");
    Request request = greedy("Once");
    request.end_tokens = EndTokens::go_on;
    request.max_tokens = 7;
    Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    CHECK(events.finished.at(0).tokens.size() == 7);
    CHECK(events.finished.at(0).finish_reason == FinishReason::length);

    const Model teller = test::model_that_says(story);
    const auto was = teller.tokenizer().encode("there was", {.bos = text::AddBos::never});
    Request stopped = greedy("Once");
    stopped.stop_tokens = {was->back()};
    Events until;
    REQUIRE(generate::generate(teller, stopped, until.sink()).has_value());
    CHECK(until.text() == " there");
    CHECK(until.finished.at(0).finish_reason == FinishReason::stop);
    CHECK(until.finished.at(0).matched == teller.tokenizer().bytes(was->back()));
}

TEST_CASE("a prompt may be tokens, and may be shortened to its end") {
    const Model model = test::model_that_says("dog");
    Request request = greedy("");
    request.prompt = std::vector<TokenId>{1, 403, 407};
    Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    CHECK(events.finished.at(0).prompt_tokens == 3);
    request.prompt = std::vector<TokenId>{1, 100'000};
    CHECK(generate::generate(model, request, events.sink()).error().message.find("100000 is not a token") !=
          std::string::npos);
    Request shortened = greedy("Once upon a time there was a dog");
    shortened.prompt_tokens_max = 2;
    auto generation = Generation::begin(model, shortened);
    REQUIRE(generation.has_value());
    CHECK(generation->prompt_tokens().size() == 2);
}

TEST_CASE("a demanded call is begun for the model, and told as its own") {
    const Model model = test::model_that_says(R"( {"city": "Oslo"}}
</tool_call>)",
                                              "{% if tools %}{{ tools | tojson }}<tool_call>{% endif %}{% "
                                              "for m in messages %}{{ m.content }}{% endfor %}");
    Request request;
    request.prompt = chat::Conversation{
        .messages = {{.role = chat::Role::user, .content = "Weather?"}},
        .tools = R"([{"type": "function", "function": {"name": "get_weather", "parameters": {}}}])",
        .demanded_tool = "get_weather"};
    request.sampling.temperature = 0.0F;
    auto generation = Generation::begin(model, request);
    REQUIRE(generation.has_value());
    CHECK(generation->prompt_text().ends_with("<tool_call>\n{\"name\": \"get_weather\", \"arguments\":"));
    Finished last;
    REQUIRE(generation
                ->finish([&](uint32_t, const Event& event) {
                    if (const auto* finished = std::get_if<Finished>(&event))
                        last = *finished;
                    return Flow::go_on;
                })
                .has_value());
    REQUIRE(last.output.calls.size() == 1);
    CHECK(last.output.calls[0].name == "get_weather");
    CHECK(last.output.calls[0].arguments == R"({"city": "Oslo"})");
    CHECK(last.finish_reason == FinishReason::tool_calls);
}

TEST_CASE("several requests begin together, and their choices are numbered through") {
    const Model model = test::model_that_says(story);
    std::vector<Request> requests = {greedy("Once"), greedy("Once upon a time")};
    requests[0].choices = 2;
    for (Request& request : requests) {
        request.max_tokens = 3;
        request.seed = 7;
    }
    auto generation = Generation::begin_all(model, requests);
    REQUIRE(generation.has_value());
    CHECK(generation->choices() == 3);
    CHECK(generation->prompt_text(1) == "Once upon a time");
    CHECK(generation->prompt_tokens(1).size() > generation->prompt_tokens(0).size());
    std::map<uint32_t, Finished> ends;
    REQUIRE(generation
                ->finish([&](uint32_t choice, const Event& event) {
                    if (const auto* finished = std::get_if<Finished>(&event))
                        ends.emplace(choice, *finished);
                    return Flow::go_on;
                })
                .has_value());
    REQUIRE(ends.size() == 3);
    CHECK((ends[0].seed == 7 && ends[1].seed == 8 && ends[2].seed == 7));
    CHECK(ends[0].prompt_tokens == generation->prompt_tokens(0).size());
    CHECK(ends[2].prompt_tokens == generation->prompt_tokens(1).size());

    requests[1].stop = {""};
    CHECK(!Generation::begin_all(model, requests).has_value()); // all or none
}

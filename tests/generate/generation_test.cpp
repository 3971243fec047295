// Requests from prompt to events, on the fake executor with stories260K's tokenizer: stop strings, limits,
// several choices, prompt log-probabilities, required calls.

#include "core/generate/generation.hpp"
#include "core/text/tokenizer.hpp"
#include "tests/generate/scripted_model.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/values.hpp"

#include <algorithm>
#include <limits>
#include <map>

using namespace etna;
using namespace etna::generate;
using test::Events;
using test::model_that_says;
using test::raw;

namespace {

Request greedy(std::string prompt) {
    Request request = raw(std::move(prompt));
    request.sampling.temperature = 0.0F;
    return request;
}

std::string text_of(const Model& model, const Request& request) {
    Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    return events.text();
}

constexpr const char* tools_template = "{% if tools %}{{ tools | tojson }}<tool_call>{% endif %}"
                                       "{% for m in messages %}{{ m.content }}{% endfor %}";

/// Returns a request with one tool that must be called; empty name: any tool.
Request requiring(const std::string& tool) {
    Request request;
    request.prompt = chat::Conversation{
        .messages = {{.role = chat::Role::user, .content = "Weather?"}},
        .tools = test::values_of(
            R"([{"type": "function", "function": {"name": "get_weather", "parameters": {}}}])"),
        .required_tool = tool};
    request.sampling.temperature = 0.0F;
    return request;
}

} // namespace

TEST_CASE("text arrives in deltas, followed by one Finished") {
    const Model model = model_that_says("a little girl and her dog");
    Events events;
    REQUIRE(generate::generate(model, raw("Once upon"), events.sink()).has_value());
    REQUIRE(events.text() == " a little girl and her dog");
    REQUIRE(events.deltas.size() > 3);
    REQUIRE(events.finished.size() == 1);
    const Finished& finished = events.finished.front();
    REQUIRE(finished.finish_reason == FinishReason::stop);
    REQUIRE(finished.prompt_tokens == model.file().tokenizer.encode("Once upon", {})->size());
    REQUIRE(finished.tokens ==
            *model.file().tokenizer.encode("a little girl and her dog", {.bos = text::AddBos::never}));
}

TEST_CASE("multi-byte characters are never split between deltas") {
    const std::string answer = "snow \xe2\x98\x83 and \xf0\x9f\x90\xb6!"; // encoded as byte tokens
    const Model model = model_that_says(answer);
    Events events;
    REQUIRE(generate::generate(model, raw("x"), events.sink()).has_value());
    REQUIRE(events.text() == " " + answer);
    for (const std::string& delta : events.deltas)
        CHECK((static_cast<unsigned char>(delta.front()) & 0xc0) != 0x80); // none starts inside a character
}

TEST_CASE("a stop string ends the answer at any token boundary") {
    const std::string answer = "one two three";
    const Model model = model_that_says(answer);
    for (std::size_t begin = 1; begin < answer.size(); ++begin) {
        Events events;
        Request request = raw("x");
        request.stop = {answer.substr(begin, 3)};
        CAPTURE(request.stop.front());
        REQUIRE(generate::generate(model, request, events.sink()).has_value());
        CHECK(events.text() == " " + answer.substr(0, answer.find(request.stop.front())));
        CHECK(events.finished.at(0).finish_reason == FinishReason::stop);
    }
    Events events;
    Request request = raw("x");
    request.stop = {""};
    REQUIRE(generate::generate(model, request, events.sink()).error().kind == ErrorKind::invalid_argument);
}

TEST_CASE("the sink and the caller can end the generation") {
    const Model model = model_that_says("a little girl and her dog");
    Events events;
    events.stop_after = 2;
    REQUIRE(generate::generate(model, raw("x"), events.sink()).has_value());
    REQUIRE(events.deltas.size() == 2);
    REQUIRE(events.finished.at(0).finish_reason == FinishReason::cancelled);

    Events none;
    REQUIRE(generate::generate(model, raw("x"), none.sink(), [] { return true; }).has_value());
    REQUIRE(none.deltas.empty());
    REQUIRE(none.finished.at(0).finish_reason == FinishReason::cancelled);
}

TEST_CASE("a prompt that exceeds the context is refused before anything is generated") {
    const Model model = model_that_says("x");
    Events events;
    std::string longer;
    for (int i = 0; i < 300; ++i)
        longer += "dog ";
    const Error error = generate::generate(model, raw(longer), events.sink()).error();
    REQUIRE(error.kind == ErrorKind::context_exceeded);
    REQUIRE(error.message.find("the context holds 256") != std::string::npos);
    REQUIRE(events.finished.empty());
    REQUIRE(events.deltas.empty());
}

TEST_CASE("a model runs several requests, and an empty prompt is the BOS token alone") {
    const Model model = model_that_says("dog");
    for (int i = 0; i < 3; ++i) {
        Events events;
        REQUIRE(generate::generate(model, raw(""), events.sink()).has_value());
        REQUIRE(events.text() == "dog"); // SentencePiece's leading space is stripped
        REQUIRE(events.finished.at(0).prompt_tokens == 1);
    }
}

TEST_CASE("choices are generated together, each with its own seed and end") {
    const Model model = model_that_says(test::story);
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
        return choice == 1 ? SinkResult::stop : SinkResult::proceed; // ends only this choice
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

TEST_CASE("Finished names the matched stop string, which the answer may include") {
    const Model model = model_that_says(test::story);
    Request request = greedy("Once");
    request.stop = {" The"};
    Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    CHECK(events.text() == " there was a dog.");
    CHECK(events.finished.at(0).matched == " The");
    request.matched_stop = MatchedStop::included;
    CHECK(text_of(model, request) == " there was a dog. The");
}

TEST_CASE("nothing ends an answer before min_tokens") {
    const Model model = model_that_says("dog");
    Request request = greedy("Once");
    CHECK(text_of(model, request) == " dog");
    request.min_tokens = 5;
    Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    CHECK(events.finished.at(0).tokens.size() >= 5);
    const Model longer = model_that_says(test::story);
    request.stop = {"dog"};
    const auto until_first = longer.file().tokenizer.encode("there was a dog", {.bos = text::AddBos::never});
    request.min_tokens = static_cast<uint32_t>(until_first->size());
    CHECK(text_of(longer, request) == " there was a dog. The "); // the second dog ends it
}

TEST_CASE("end tokens can be ignored, and stop tokens end an answer") {
    const Model model = model_that_says("dog");
    Request request = greedy("Once");
    request.end_tokens = EndTokens::ignore;
    request.max_tokens = 7;
    Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    CHECK(events.finished.at(0).tokens.size() == 7);
    CHECK(events.finished.at(0).finish_reason == FinishReason::length);

    const Model teller = model_that_says(test::story);
    const auto was = teller.file().tokenizer.encode("there was", {.bos = text::AddBos::never});
    Request stopped = greedy("Once");
    stopped.stop_tokens = {was->back()};
    Events until;
    REQUIRE(generate::generate(teller, stopped, until.sink()).has_value());
    CHECK(until.text() == " there");
    CHECK(until.finished.at(0).finish_reason == FinishReason::stop);
    CHECK(until.finished.at(0).matched == teller.file().tokenizer.bytes(was->back()));
}

TEST_CASE("a prompt may be tokens, and may be truncated to its last ones") {
    const Model model = model_that_says("dog");
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

TEST_CASE("prompt_logprobs delivers every token of the prompt with its likelihood") {
    const Model model = model_that_says("dog");
    Request request = greedy("");
    const std::vector<TokenId> prompt = {1, 403, 407, 261};
    request.prompt = prompt;
    request.prompt_logprobs = 2;
    Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    REQUIRE(events.prompt.size() == prompt.size());
    for (std::size_t i = 0; i < prompt.size(); ++i) {
        CHECK(events.prompt[i].token == prompt[i]);
        CHECK(events.prompt[i].bytes == model.file().tokenizer.bytes(prompt[i]));
        REQUIRE(events.prompt[i].likelihood.has_value() == (i > 0));
        if (i > 0) {
            CHECK(events.prompt[i].likelihood->chosen.token == prompt[i]);
            CHECK(events.prompt[i].likelihood->chosen.logprob <= 0);
            REQUIRE(events.prompt[i].likelihood->top.size() == 2);
            const bool is_likeliest = events.prompt[i].likelihood->top[0].token == prompt[i];
            CHECK((events.prompt[i].rank == 1) == is_likeliest);
        }
    }
    CHECK(events.text() == " dog");
    CHECK(events.prompt[0].text == "<s>");

    SECTION("a BOS token added by the tokenizer has no text") {
        request.prompt = "Once";
        Events text;
        REQUIRE(generate::generate(model, request, text.sink()).has_value());
        REQUIRE(text.prompt.size() > 1);
        CHECK(text.prompt[0].bytes == "<s>");
        std::string text_of_tokens;
        for (const PromptTokenDelta& token : text.prompt)
            text_of_tokens += token.text;
        CHECK(text_of_tokens == "Once");
    }
    SECTION("the prompt cache is not used") {
        Events again;
        REQUIRE(generate::generate(model, request, again.sink()).has_value());
        CHECK(again.finished.at(0).cached_tokens == 0);
        CHECK(again.prompt.at(3).likelihood->chosen.logprob == events.prompt[3].likelihood->chosen.logprob);
    }
    SECTION("max_tokens may be 0") {
        request.max_tokens = 0;
        Events none;
        REQUIRE(generate::generate(model, request, none.sink()).has_value());
        CHECK(none.prompt.size() == prompt.size());
        CHECK(none.tokens.empty());
        CHECK(none.text().empty());
        CHECK(none.finished.at(0).tokens.empty());
        CHECK(none.finished.at(0).finish_reason == FinishReason::length);
    }
    SECTION("without prompt_logprobs, none are delivered") {
        request.prompt_logprobs.reset();
        Events quiet;
        REQUIRE(generate::generate(model, request, quiet.sink()).has_value());
        CHECK(quiet.prompt.empty());
    }
}

/// A call in Hermes syntax.
constexpr const char* weather_call = R"(<tool_call>
{"name": "get_weather", "arguments": {"city": "Oslo"}}
</tool_call>)";

TEST_CASE("a required call constrains the complete answer") {
    const Model model = model_that_says(weather_call, tools_template);
    Request request = requiring("get_weather");
    auto generation = Generation::begin(model, request);
    REQUIRE(generation.has_value());
    CHECK(generation->prompt_text().ends_with("Weather?"));
    Finished last;
    REQUIRE(generation
                ->finish([&](uint32_t, const Event& event) {
                    if (const auto* finished = std::get_if<Finished>(&event))
                        last = *finished;
                    return SinkResult::proceed;
                })
                .has_value());
    REQUIRE(last.output.calls.size() == 1);
    CHECK(last.output.calls[0].name == "get_weather");
    CHECK(last.output.calls[0].arguments == R"({"city": "Oslo"})");
    CHECK(last.finish_reason == FinishReason::tool_calls);
}

TEST_CASE("several requests begin together, with consecutive choice indices") {
    const Model model = model_that_says(test::story);
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
                    return SinkResult::proceed;
                })
                .has_value());
    REQUIRE(ends.size() == 3);
    CHECK((ends[0].seed == 7 && ends[1].seed == 8 && ends[2].seed == 7));
    CHECK(ends[0].prompt_tokens == generation->prompt_tokens(0).size());
    CHECK(ends[2].prompt_tokens == generation->prompt_tokens(1).size());

    requests[1].stop = {""};
    CHECK(!Generation::begin_all(model, requests).has_value()); // all or none
}

TEST_CASE("a required call that is cut off leaves no syntax in the text") {
    const Model model = model_that_says(weather_call, tools_template);
    Request request = requiring("");
    const auto text_of_events = [&](const Request& asked) {
        std::string text;
        REQUIRE(generate::generate(model, asked, [&](const Event& event) {
                    if (const auto* delta = std::get_if<TextDelta>(&event))
                        text += delta->text;
                    if (const auto* output = std::get_if<output::Event>(&event))
                        CHECK(output->kind != output::EventKind::call_broken);
                    return SinkResult::proceed;
                }).has_value());
        return text;
    };
    for (uint32_t tokens = 1; tokens < 12; ++tokens) {
        request.max_tokens = tokens;
        CHECK(text_of_events(request).empty());
    }
    request.max_tokens.reset();
    request.stop = {"weather"}; // ends the call inside its name
    request.stop_scope = StopScope::all_text;
    CHECK(text_of_events(request).empty());
}

TEST_CASE("an end token after a stop string is not the answer's") {
    const Model model = model_that_says(weather_call, tools_template);
    Request request = requiring("");
    request.stop = {"weather"};
    request.stop_scope = StopScope::all_text;
    auto generation = Generation::begin(model, request);
    REQUIRE(generation.has_value());
    const auto wait_for_end = [&] { // of the model, before the answer is read
        (void)test::eventually(
            [&] { return model.engine().load().running + model.engine().load().waiting == 0; });
        return false;
    };
    Finished last;
    const auto sink = [&](uint32_t, const Event& event) {
        if (const auto* output = std::get_if<output::Event>(&event))
            CHECK(output->kind != output::EventKind::call_broken);
        if (const auto* finished = std::get_if<Finished>(&event))
            last = *finished;
        return SinkResult::proceed;
    };
    REQUIRE(generation->finish(sink, wait_for_end).has_value());
    CHECK(last.finish_reason == FinishReason::stop);
    CHECK(last.matched == "weather");
}

TEST_CASE("a text longer than the context is refused by its size before it is tokenized") {
    const Model model = model_that_says("dog");
    REQUIRE(model.file().longest_token_bytes > 1);
    const std::string text(10'000'000, 'a');
    int polls = 0;
    const auto stop = [&] { return ++polls, false; };
    const Error error = Generation::begin(model, greedy(text), stop).error();
    CHECK(error.kind == ErrorKind::context_exceeded);
    CHECK(error.message.find("10000000 bytes") != std::string::npos);
    CHECK(error.message.find("the context holds 256") != std::string::npos);
    CHECK(polls == 1); // tokenizing polls repeatedly

    const std::size_t bytes_max = model.file().longest_token_bytes * model.context_tokens();
    const Error counted = Generation::begin(model, greedy(std::string(bytes_max - 1, 'a'))).error();
    CHECK(counted.message.find("tokens, but") != std::string::npos);
    Request shortened = greedy(std::string(bytes_max * 2, 'a'));
    shortened.prompt_tokens_max = 10;
    CHECK(Generation::begin(model, shortened).has_value());
    CHECK(encode(model, greedy(text)).has_value()); // encoding alone has no limit
}

TEST_CASE("cancellation stops the encoding of a prompt") {
    const Model model = model_that_says("dog");
    Request request = greedy(std::string(10'000'000, 'a'));
    request.prompt_tokens_max = 10;
    int polls = 0;
    const auto stop = [&] { return ++polls == 5; };
    CHECK(Generation::begin(model, request, stop).error().kind == ErrorKind::cancelled);
    CHECK(polls == 5);
    polls = 4;
    CHECK(encode(model, request, {.is_cancelled = stop}).error().kind == ErrorKind::cancelled);
}

TEST_CASE("bans that leave no token are refused before anything is generated") {
    const Model model = model_that_says("dog");
    const auto ends = model.file().tokenizer.end_tokens();
    Request request = greedy("Once");
    request.max_tokens = 2;
    for (TokenId token = 0; token < model.file().tokenizer.size(); ++token) {
        if (std::find(ends.begin(), ends.end(), token) == ends.end())
            request.logit_bias.push_back({token, -std::numeric_limits<float>::infinity()});
    }
    CHECK(Generation::begin(model, request).has_value()); // the answer may end
    request.min_tokens = 1;
    const auto refused = Generation::begin(model, request);
    REQUIRE(!refused.has_value()); // but not before one token
    CHECK(refused.error().kind == ErrorKind::invalid_argument);
    request.min_tokens = 0;
    for (const TokenId token : ends)
        request.logit_bias.push_back({token, -std::numeric_limits<float>::infinity()});
    CHECK(!Generation::begin(model, request).has_value());
    request.logit_bias.back().bias = -99;
    CHECK(Generation::begin(model, request).has_value());
}

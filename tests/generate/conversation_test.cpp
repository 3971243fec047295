// Conversations: reuse of the prompt cache by later turns, and parsing of answers.

#include "tests/generate/scripted_model.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/values.hpp"

using namespace etna;
using namespace etna::generate;
using test::Events;

namespace {

// Ends every message with the EOS token.
constexpr const char* lines_template =
    "{% for m in messages %}{{ m.role }}: {{ m.content }}</s>{% endfor %}assistant:";

Request request_for(std::vector<chat::Message> messages, Transcript* transcript = nullptr) {
    Request request;
    request.prompt = chat::Conversation{.messages = std::move(messages)};
    request.transcript = transcript;
    request.sampling.temperature = 0.0F;
    return request;
}

Finished answered(const Model& model, const Request& request) {
    Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    REQUIRE(events.finished.size() == 1);
    return events.finished.front();
}

} // namespace

TEST_CASE("the next turn of a conversation of 1,500 tokens computes only its new tokens") {
    const Model model = test::model_that_says("there was a dog and a cat", lines_template, 2048);
    Transcript transcript;
    std::string story;
    while (model.file().tokenizer.encode(story, {})->size() < 1470)
        story += "Once upon a time there was a little girl. ";
    std::vector<chat::Message> messages = {{.role = chat::Role::user, .content = story}};
    const Finished first = answered(model, request_for(messages, &transcript));
    REQUIRE(first.prompt_tokens > 1470);
    CHECK(first.cached_tokens == 0);
    CHECK(first.output.content == "there was a dog and a cat");

    const std::string next = "And then?";
    messages.push_back({.role = chat::Role::assistant, .content = first.output.content});
    messages.push_back({.role = chat::Role::user, .content = next});
    const Finished second = answered(model, request_for(messages, &transcript));
    // The template renders the content after "assistant: ", as the model generated it, so all of it is
    // cached.
    const auto own =
        model.file().tokenizer.encode("</s>user: " + next + "</s>assistant:", {.bos = text::AddBos::never});
    CHECK(second.cached_tokens == first.prompt_tokens + first.tokens.size());
    CHECK(second.prompt_tokens - second.cached_tokens == own->size());

    // Without a transcript, the answer is tokenized again, so only the first prompt is found in the cache.
    const Finished without_transcript = answered(model, request_for(messages));
    CHECK(without_transcript.cached_tokens >= first.prompt_tokens - 1);
    CHECK(without_transcript.cached_tokens < second.cached_tokens);
}

TEST_CASE("an edited conversation is computed from the first changed token") {
    const Model model = test::model_that_says("a dog", lines_template, 2048);
    Transcript transcript;
    std::vector<chat::Message> messages = {
        {.role = chat::Role::user, .content = "Tell me a story about a girl."},
        {.role = chat::Role::assistant, .content = "No."},
        {.role = chat::Role::user, .content = "Please."}};
    const Finished first = answered(model, request_for(messages, &transcript));
    messages.back().content = "Thank you.";
    const Finished other = answered(model, request_for(messages, &transcript));
    CHECK(other.cached_tokens > 10);
    CHECK(other.cached_tokens < first.prompt_tokens);
    const Finished again = answered(model, request_for(messages));
    CHECK(again.tokens == other.tokens);
}

TEST_CASE("an answer is parsed into content, reasoning and calls") {
    const Model model = test::model_that_says("<think>a die</think>I roll.<tool_call>{\"name\": \"roll\", "
                                              "\"arguments\": {\"sides\": 6}}</tool_call>",
                                              "{{ messages[0].content }}<tool_call>", 2048);
    Request request = request_for({{.role = chat::Role::user, .content = "Roll"}});
    std::get<chat::Conversation>(request.prompt).tools =
        test::values_of(R"([{"type": "function", "function": {"name": "roll", "parameters": {}}}])");
    request.seed = 7;
    Events events;
    REQUIRE(generate::generate(model, request, events.sink()).has_value());
    CHECK(events.text() == "I roll.");
    const Finished& finished = events.finished.at(0);
    CHECK(finished.finish_reason == FinishReason::tool_calls);
    CHECK(finished.output.reasoning == "a die");
    REQUIRE(finished.output.calls.size() == 1);
    CHECK(finished.output.calls[0].name == "roll");
    CHECK(finished.output.calls[0].arguments == "{\"sides\": 6}");
    CHECK(finished.output.calls[0].id.size() == 9);
    CHECK(answered(model, request).output.calls[0].id == finished.output.calls[0].id);

    // A call that is cut off is broken, and none of it is text.
    request.max_tokens = static_cast<uint32_t>(finished.tokens.size()) - 20;
    Events cut;
    REQUIRE(generate::generate(model, request, cut.sink()).has_value());
    CHECK(cut.text() == "I roll.");
    CHECK(cut.finished.at(0).finish_reason == FinishReason::length);
    CHECK(cut.finished.at(0).output.calls.empty());
    CHECK(cut.finished.at(0).output.broken.size() == 1);
}

TEST_CASE("raw text is not parsed") {
    const Model model = test::model_that_says("<think>x</think>y", lines_template, 2048);
    Events events;
    REQUIRE(generate::generate(model, test::raw("Hi"), events.sink()).has_value());
    CHECK(events.text() == " <think>x</think>y");
}

TEST_CASE("a transcript is not reused if its text was the template's, and now is a client's") {
    const Model model = test::model_that_says("b", "{{ messages[0].content }}", 2048);
    const text::Tokenizer& tokenizer = model.file().tokenizer;
    const std::string first = "a</s>b";
    const std::string next = first + "</s>c";
    const auto read = tokenizer.encode(first, {}).value();
    Transcript transcript;
    transcript.record(tokenizer, first, {}, {read, std::vector(read.size(), engine::RowKind::prefill)}, {});
    CHECK(transcript.encode(tokenizer, next, {}).value().tokens == tokenizer.encode(next, {}).value());
    const std::vector<std::size_t> barriers = {3};
    const text::EncodeOptions options = {.barriers = barriers};
    const auto tokens = transcript.encode(tokenizer, next, options).value().tokens;
    CHECK(tokens == tokenizer.encode(next, options).value());
    CHECK(std::count(tokens.begin(), tokens.end(), tokenizer.eos().value()) == 1);
    transcript.record(tokenizer, first, barriers,
                      {tokens, std::vector(tokens.size(), engine::RowKind::prefill)}, {});
    CHECK(transcript.encode(tokenizer, next, {}).value().tokens == tokenizer.encode(next, {}).value());
}

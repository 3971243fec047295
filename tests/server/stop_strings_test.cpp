// Stop strings of a reasoning model in every API: the same answer whole and streamed.
#include "tests/server/ollama_client.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

constexpr const char* thinker_says = "<think>\nBig is 12.7 so\n\nthe first wins\n</think>\n\nSo 12.7 it is.";
constexpr const char* thinker_reasoning = "Big is 12.7 so\n\nthe first wins";

std::string stopped_chat(const std::string& more) {
    return R"({"messages": [{"role": "user", "content": "Go"}], "max_tokens": 100, "temperature": 0)" + more +
           "}";
}

std::string stopped_message(const std::string& more) {
    return R"({"model": "stories", "messages": [{"role": "user", "content": "Go"}], "max_tokens": 100,
        "temperature": 0, "thinking": {"type": "adaptive"})" +
           more + "}";
}

FakeService thinker(generate::StopScope scope = generate::StopScope::content) {
    FakeService::Options options{.chat_template = marked_template, .says = thinker_says};
    options.service.limits.stop_scope = scope;
    return FakeService(options);
}

/// Content and reasoning of the pieces of a streamed chat.
std::pair<std::string, std::string> streamed_thinker(FakeService& service, const std::string& more) {
    std::pair<std::string, std::string> text;
    for (const Json& piece :
         pieces_of(service.post(chats_path, stopped_chat(more + R"(, "stream": true)")))) {
        text.first += piece["delta"].value("content", "");
        text.second += piece["delta"].value("reasoning_content", "");
    }
    return text;
}

} // namespace

TEST_CASE("a stop string leaves a chat's reasoning complete, streamed or not") {
    FakeService service = thinker();
    const std::pair<const char*, const char*> cases[] = {
        {R"("12.7")", "So "}, {R"("\n\n")", "So 12.7 it is."}, {R"(["wins", "it"])", "So 12.7 "}};
    for (const auto& [stop, content] : cases) {
        const std::string more = std::string(R"(, "stop": )") + stop;
        CAPTURE(more);
        const Json whole = choice_of(service.post(chats_path, stopped_chat(more)));
        CHECK(whole["message"]["content"] == content);
        CHECK(whole["message"]["reasoning_content"] == thinker_reasoning);
        CHECK(whole["finish_reason"] == "stop");
        CHECK(streamed_thinker(service, more) ==
              std::pair<std::string, std::string>(content, thinker_reasoning));
    }
}

TEST_CASE("each choice of a chat ends at its own stop string in the content") {
    FakeService service = thinker();
    const Json answer = post_json(service, chats_path, stopped_chat(R"(, "stop": "12.7", "n": 3)"));
    REQUIRE(answer["choices"].size() == 3);
    for (const Json& choice : answer["choices"])
        CHECK((choice["message"]["content"] == "So " && choice["finish_reason"] == "stop"));
}

TEST_CASE("stop_in_reasoning and the operator's option let stop strings end the reasoning") {
    const auto content = [](FakeService& service, const std::string& more) {
        return choice_of(service.post(chats_path, stopped_chat(R"(, "stop": "12.7")" + more)))["message"];
    };
    FakeService service = thinker();
    const Json stopped = content(service, R"(, "stop_in_reasoning": true)");
    CHECK((stopped["content"] == "" && stopped["reasoning_content"] == "Big is"));
    CHECK(error_of(service.post(chats_path, stopped_chat(R"(, "stop_in_reasoning": 1)")))["param"] ==
          "stop_in_reasoning");
    FakeService everywhere = thinker(generate::StopScope::all_text);
    CHECK(content(everywhere, "")["content"] == "");
    CHECK(content(everywhere, R"(, "stop_in_reasoning": false)")["content"] == "So ");
}

TEST_CASE("stop_sequences of a message act on its text alone") {
    FakeService service = thinker();
    const std::string stop = R"(, "stop_sequences": ["12.7"])";
    const Json answer = post_json(service, "/v1/messages", stopped_message(stop));
    REQUIRE(answer["content"].size() == 2);
    CHECK((answer["content"][0]["thinking"] == thinker_reasoning && answer["content"][1]["text"] == "So "));
    CHECK((answer["stop_reason"] == "stop_sequence" && answer["stop_sequence"] == "12.7"));
    std::string text;
    for (const Json& event :
         events_of(service.post("/v1/messages", stopped_message(stop + R"(, "stream": true)")).body))
        text += event.value("delta", Json::object()).value("text", "");
    CHECK(text == "So ");
    const Json early =
        post_json(service, "/v1/messages", stopped_message(stop + R"(, "stop_in_reasoning": true)"));
    CHECK((early["content"].size() == 1 && early["content"][0]["thinking"] == "Big is"));
}

TEST_CASE("stop of Ollama's options acts on the content alone") {
    FakeService service = thinker();
    const std::string more = R"(, "think": true, "options": {"temperature": 0, "stop": ["12.7"]})";
    const Json whole = post_json(service, ollama_chat_path, ollama_chat("Go", more + whole_answer));
    CHECK((whole["message"]["content"] == "So " && whole["message"]["thinking"] == thinker_reasoning));
    std::string content;
    for (const Json& line : lines_of(service.post(ollama_chat_path, ollama_chat("Go", more))))
        content += line["message"]["content"].get<std::string>();
    CHECK(content == "So ");
    const Json early = post_json(service, ollama_chat_path,
                                 ollama_chat("Go", more + whole_answer + R"(, "stop_in_reasoning": true)"));
    CHECK(early["message"]["content"] == "");
}

TEST_CASE("a stop string of a response leaves its reasoning complete") {
    FakeService service = thinker();
    const Json response = create_response(service, response_body("Go", R"(, "stop": "12.7")"));
    CHECK(response["output_text"] == "So ");
    CHECK(response["output"][0]["content"][0]["text"] == thinker_reasoning);
}

TEST_CASE("all text of a completion is content") {
    FakeService service = thinker();
    const std::string body = R"({"prompt": "Go", "max_tokens": 100, "temperature": 0, "stop": "12.7"})";
    CHECK(choice_of(service.post(completions_path, body))["text"] == " <think>\nBig is ");
}

TEST_CASE("log-probabilities of a stopped chat are those of its reasoning and its content") {
    FakeService service = thinker();
    const std::string more = R"(, "stop": "12.7", "logprobs": true)";
    const auto tokens_of = [](const Json& logprobs, std::string& text) {
        for (const Json& token : logprobs.is_null() ? Json::array() : logprobs["content"])
            text += token["token"].get<std::string>();
    };
    std::string whole;
    tokens_of(choice_of(service.post(chats_path, stopped_chat(more)))["logprobs"], whole);
    CHECK(whole == " <think>\nBig is 12.7 so\n\nthe first wins\n</think>\n\nSo ");
    std::string streamed;
    for (const Json& piece : pieces_of(service.post(chats_path, stopped_chat(more + R"(, "stream": true)"))))
        tokens_of(piece["logprobs"], streamed);
    CHECK(streamed == whole);
}

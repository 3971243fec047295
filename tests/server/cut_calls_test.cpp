// Calls that a limit cuts off: the same answer whole and streamed, and no call in a later prompt.
#include "tests/server/ollama_client.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

constexpr const char* mill_call =
    "I look.\n<tool_call>\n{\"name\": \"look\", \"arguments\": {\"place\": \"the old mill\"}}\n</tool_call>";
constexpr const char* mill_arguments = R"({"place": "the old mill"})";
constexpr int cut_tokens_max = 120; ///< more than the answer has

constexpr const char* cut_chat_tool = R"(, "tools": [{"type": "function", "function": {"name": "look",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}}}}])";
constexpr const char* cut_flat_tool = R"(, "tools": [{"type": "function", "name": "look",
    "parameters": {"type": "object", "properties": {"place": {"type": "string"}}}}])";
constexpr const char* cut_message_tool = R"(, "tools": [{"name": "look",
    "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}}}])";

FakeService mill_caller() {
    return FakeService({.chat_template = marked_template, .says = mill_call});
}

std::string cut_chat(int tokens, const std::string& more = "") {
    return R"({"messages": [{"role": "user", "content": "Go"}], "temperature": 0, "max_tokens": )" +
           std::to_string(tokens) + cut_chat_tool + more + "}";
}

std::string cut_message(int tokens, const std::string& more = "") {
    return R"({"model": "stories", "messages": [{"role": "user", "content": "Go"}], "temperature": 0,
        "max_tokens": )" +
           std::to_string(tokens) + cut_message_tool + more + "}";
}

/// Content, and name and arguments of a call.
struct CallAnswer {
    std::string content;
    std::string name = {};
    std::string arguments = {};
    std::string reason = {};
    bool operator==(const CallAnswer&) const = default;
};

CallAnswer whole_cut_chat(FakeService& service, int tokens) {
    const Json choice = choice_of(service.post(chats_path, cut_chat(tokens)));
    const Json& message = choice["message"];
    CallAnswer answer{.content = message["content"].is_null() ? "" : message["content"].get<std::string>(),
                      .reason = choice["finish_reason"]};
    for (const Json& call : message.value("tool_calls", Json::array())) {
        answer.name = call["function"]["name"];
        answer.arguments = call["function"]["arguments"];
    }
    return answer;
}

CallAnswer streamed_cut_chat(FakeService& service, int tokens) {
    CallAnswer answer;
    for (const Json& piece : pieces_of(service.post(chats_path, cut_chat(tokens, R"(, "stream": true)")))) {
        answer.content += piece["delta"].value("content", "");
        for (const Json& call : piece["delta"].value("tool_calls", Json::array())) {
            answer.name += call["function"].value("name", "");
            answer.arguments += call["function"].value("arguments", "");
        }
        if (!piece["finish_reason"].is_null())
            answer.reason = piece["finish_reason"];
    }
    return answer;
}

/// Whether a client could run a call with these arguments.
bool is_runnable(const std::string& text) {
    return text.empty() || etna::parse_json(text).is_object();
}

} // namespace

TEST_CASE("a chat's call that is cut off is the same whole and streamed, and cannot run") {
    FakeService service = mill_caller();
    int cut = 0;
    for (int tokens = 1; tokens < cut_tokens_max; ++tokens) {
        const CallAnswer whole = whole_cut_chat(service, tokens);
        CAPTURE(tokens, whole.content, whole.arguments, whole.reason);
        CHECK(streamed_cut_chat(service, tokens) == whole);
        if (whole.reason == "tool_calls") {
            CHECK((whole.name == "look" && whole.arguments == mill_arguments));
            break;
        }
        CHECK(whole.reason == "length");
        if (whole.name.empty() || whole.arguments == mill_arguments)
            continue;
        ++cut;
        CHECK(std::string(mill_arguments).starts_with(whole.arguments));
        CHECK_FALSE(is_runnable(whole.arguments));
    }
    CHECK(cut > 5);
}

TEST_CASE("a stored chat has the call that was cut off as its answer had it") {
    FakeService service = mill_caller();
    const Json answer = post_json(service, chats_path, cut_chat(50, R"(, "store": true)"));
    const Json stored = json_of(service.get(std::string(chats_path) + "/" + answer["id"].get<std::string>()));
    REQUIRE(answer["choices"][0]["message"].contains("tool_calls"));
    CHECK(stored["choices"] == answer["choices"]);
}

TEST_CASE("a message's call that is cut off is a tool_use block without input") {
    FakeService service = mill_caller();
    int cut = 0;
    for (int tokens = 1; tokens < cut_tokens_max; ++tokens) {
        const Json whole = post_json(service, "/v1/messages", cut_message(tokens));
        CAPTURE(tokens, etna::dump_json(whole));
        Json blocks = Json::array();
        std::string partial;
        Json stop;
        for (const Json& event :
             events_of(service.post("/v1/messages", cut_message(tokens, R"(, "stream": true)")).body)) {
            if (event["type"] == "content_block_start") {
                blocks.push_back(event["content_block"]["type"]);
                partial.clear();
            }
            partial += event.value("delta", Json::object()).value("partial_json", "");
            if (event["type"] == "message_delta")
                stop = event["delta"]["stop_reason"];
        }
        Json types = Json::array();
        for (const Json& block : whole["content"])
            types.push_back(block["type"]);
        CHECK(blocks == types);
        CHECK(stop == whole["stop_reason"]);
        if (whole["stop_reason"] == "tool_use")
            break;
        CHECK(whole["stop_reason"] == "max_tokens");
        const bool has_call = !types.empty() && types.back() == "tool_use";
        if (has_call && !is_runnable(partial)) {
            ++cut;
            CHECK(whole["content"].back()["input"] == Json::object());
        }
    }
    CHECK(cut > 5);
}

TEST_CASE("Ollama's answers leave a call out that was cut off, whole and streamed") {
    FakeService service = mill_caller();
    const auto body = [](int tokens, const std::string& more) {
        return ollama_chat("Go", cut_chat_tool + (R"(, "options": {"temperature": 0, "num_predict": )" +
                                                  std::to_string(tokens) + "}" + more));
    };
    for (const int tokens : {20, 40, 50}) {
        const Json whole = post_json(service, ollama_chat_path, body(tokens, whole_answer));
        CAPTURE(tokens, etna::dump_json(whole));
        REQUIRE(whole["done_reason"] == "length");
        CHECK_FALSE(whole["message"].contains("tool_calls"));
        std::string content;
        for (const Json& line : lines_of(service.post(ollama_chat_path, body(tokens, "")))) {
            CHECK_FALSE(line["message"].contains("tool_calls"));
            content += line["message"]["content"].get<std::string>();
        }
        CHECK(Json(content) == whole["message"]["content"]);
    }
}

TEST_CASE("a response's call that is cut off is incomplete, and enters no later prompt") {
    FakeService service = mill_caller();
    const Json cut = create_response(service, R"({"input": "Go", "temperature": 0, "max_output_tokens": 50)" +
                                                  std::string(cut_flat_tool) + "}");
    CAPTURE(etna::dump_json(cut));
    CHECK((cut["status"] == "incomplete" && cut["output"].size() == 2));
    const Json call = cut["output"][1];
    CHECK((call["type"] == "function_call" && call["status"] == "incomplete"));
    CHECK_FALSE(is_runnable(call["arguments"]));

    const std::string question = R"({"role": "user", "content": "Then?"})";
    const std::string said = R"({"role": "user", "content": "Go"}, )" + etna::dump_json(cut["output"][0]);
    const auto tokens = [&](const std::string& items, const std::string& more = "") {
        return input_tokens(service, "{\"input\": [" + items + "]" + cut_flat_tool + more + "}");
    };
    const std::size_t without = tokens(said + ", " + question);
    CHECK(tokens(question, previous_response(cut)) == without);
    CHECK(tokens(said + ", " + etna::dump_json(call) + ", " + question) == without);

    const Json result = {{"type", "function_call_output"}, {"call_id", call["call_id"]}, {"output", "done"}};
    const Json error = error_of(service.post(responses_path, "{\"input\": [" + etna::dump_json(result) + "]" +
                                                                 previous_response(cut) + "}"));
    CHECK(error["code"] == "tool_call_not_found");
}

TEST_CASE("a conversation's later prompts have no call that was cut off") {
    FakeService service = mill_caller();
    const std::string conversation = new_conversation(service);
    const std::string member = R"(, "conversation": ")" + conversation + "\"";
    const Json cut = create_response(service, R"({"input": "Go", "temperature": 0, "max_output_tokens": 50)" +
                                                  std::string(cut_flat_tool) + member + "}");
    REQUIRE(cut["output"].back()["type"] == "function_call");
    const std::size_t with = input_tokens(service, R"({"input": "Then?")" + member + cut_flat_tool + "}");
    const std::string said = R"({"role": "user", "content": "Go"}, )" + etna::dump_json(cut["output"][0]);
    CHECK(with ==
          input_tokens(service, "{\"input\": [" + said + R"(, {"role": "user", "content": "Then?"}])" +
                                    cut_flat_tool + "}"));
}

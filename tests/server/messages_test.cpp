// Anthropic's Messages API: bodies, blocks, streams, thinking, tools and errors.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

constexpr const char* messages_path = "/v1/messages";
constexpr const char* count_path = "/v1/messages/count_tokens";

/// A request with one message; `more` continues the object.
std::string message_body(const std::string& text, const std::string& more = "") {
    return R"({"model": "stories", "max_tokens": 30, "temperature": 0, "messages": [{"role": "user", "content": )" +
           etna::dump_json(text) + "}]" + more + "}";
}

/// A request with a list of messages.
std::string conversation_body(const std::string& messages, const std::string& more = "") {
    return R"({"model": "stories", "max_tokens": 30, "temperature": 0, "messages": [)" + messages + "]" +
           more + "}";
}

constexpr const char* look_tool =
    R"(, "tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object",
        "properties": {"x": {"type": "integer", "minimum": 0, "maximum": 9}}, "required": ["x"],
        "additionalProperties": false}, "strict": true}])";

/// The error's message; checks status and type.
std::string message_error(const FakeAnswer& answer, int status, const std::string& type) {
    CAPTURE(answer.body);
    CHECK(answer.status == status);
    const Json json = etna::parse_json(answer.body);
    CHECK(json["type"] == "error");
    CHECK(json["error"]["type"] == type);
    return json["error"].value("message", "");
}

std::string bad_request(FakeService& service, const std::string& body) {
    return message_error(service.post(messages_path, body), 400, "invalid_request_error");
}

/// Assembles the message from a stream as a client does, and checks the order of the events.
Json message_of_stream(const std::string& stream) {
    Json message;
    std::string arguments;
    for (const Json& event : events_of(stream)) {
        const std::string type = event["type"];
        if (type == "message_start") {
            message = event["message"];
        } else if (type == "content_block_start") {
            REQUIRE(event["index"] == message["content"].size());
            message["content"].push_back(event["content_block"]);
            arguments.clear();
        } else if (type == "content_block_delta") {
            const Json& delta = event["delta"];
            Json& block = message["content"].back();
            if (delta["type"] == "text_delta") {
                block["text"] = block["text"].get<std::string>() + delta["text"].get<std::string>();
            } else if (delta["type"] == "thinking_delta") {
                block["thinking"] =
                    block["thinking"].get<std::string>() + delta["thinking"].get<std::string>();
            } else if (delta["type"] == "signature_delta") {
                block["signature"] = delta["signature"];
            } else {
                arguments += delta["partial_json"].get<std::string>();
            }
        } else if (type == "content_block_stop" && message["content"].back()["type"] == "tool_use") {
            message["content"].back()["input"] = etna::parse_json(arguments);
        } else if (type == "message_delta") {
            message.update(event["delta"]);
            message["usage"].update(event["usage"]);
        }
    }
    return message;
}

/// Removes members that differ between two answers to one request.
Json without_ids(Json message) {
    message.erase("id");
    message["usage"].erase("cache_read_input_tokens");
    message["usage"].erase("input_tokens");
    for (Json& block : message["content"]) {
        block.erase("id");
        block.erase("signature"); // encryption is randomised
    }
    return message;
}

} // namespace

TEST_CASE("a message is answered with content blocks and stop_reason and usage") {
    FakeService service({.chat_template = marked_template, .says = "Hello there."});
    const Json message = post_json(service, messages_path, message_body("Hi"));
    CHECK(message["id"].get<std::string>().starts_with("msg_"));
    CHECK((message["type"] == "message" && message["role"] == "assistant" && message["model"] == "stories"));
    CHECK(message["content"] ==
          etna::parse_json(R"([{"type": "text", "text": "Hello there.", "citations": null}])"));
    CHECK((message["stop_reason"] == "end_turn" && message["stop_sequence"].is_null()));
    CHECK(message["usage"]["output_tokens"].get<int>() > 0);
    const Json again = post_json(service, messages_path, message_body("Hi"));
    const Json& usage = again["usage"];
    CHECK(usage["input_tokens"].get<int>() + usage["cache_read_input_tokens"].get<int>() ==
          post_json(service, count_path, message_body("Hi"))["input_tokens"]);
}

TEST_CASE("message_start counts the cached tokens, as message_delta does") {
    FakeService service({.chat_template = marked_template, .says = "Hello there."});
    std::string question;
    for (int i = 0; i < 40; ++i)
        question += "Who goes there? ";
    const Json count = post_json(service, count_path, message_body(question))["input_tokens"];
    for (int round = 0; round < 2; ++round) {
        for (const std::string limit : {"30", "1"}) {
            const auto stream = service.post(
                messages_path, message_body(question, R"(, "stream": true, "max_tokens": )" + limit));
            Json start;
            Json last;
            for (const Json& event : events_of(stream.body)) {
                if (event["type"] == "message_start")
                    start = event["message"]["usage"];
                if (event["type"] == "message_delta")
                    last = event["usage"];
            }
            CAPTURE(round, limit, etna::dump_json(start), etna::dump_json(last));
            CHECK(events_of(stream.body).front()["type"] == "message_start");
            for (const char* member : {"input_tokens", "cache_read_input_tokens"})
                CHECK(start[member] == last[member]);
            CHECK(start["input_tokens"].get<int>() + start["cache_read_input_tokens"].get<int>() == count);
            CHECK((round == 0 || start["cache_read_input_tokens"].get<int>() > 0));
        }
    }
}

TEST_CASE("a streamed message equals an unstreamed one") {
    FakeService service({.chat_template = marked_template,
                         .says = "<think>Hm, well.</think>I look.\n<tool_call>\n{\"name\": \"look\", "
                                 "\"arguments\": {\"x\": 5}}\n</tool_call>"});
    const std::string body = message_body(
        "Go", std::string(look_tool) + R"(, "max_tokens": 200, "thinking": {"type": "adaptive"})");
    const Json whole = post_json(service, messages_path, body);
    REQUIRE(whole["content"].size() == 3);
    CHECK(whole["content"][0]["thinking"] == "Hm, well.");
    CHECK(whole["content"][1]["type"] == "text");
    CHECK(whole["content"][2]["name"] == "look");
    CHECK(whole["content"][2]["input"]["x"] == 5);
    CHECK(whole["stop_reason"] == "tool_use");
    const auto stream = service.post(messages_path, body.substr(0, body.size() - 1) + R"(, "stream": true})");
    REQUIRE(stream.status == 200);
    CHECK(without_ids(message_of_stream(stream.body)) == without_ids(whole));
    const auto types = types_of(events_of(stream.body));
    CHECK(types.front() == "message_start");
    CHECK(types.back() == "message_stop");
}

TEST_CASE("stop_reason has the API's values") {
    FakeService service({.chat_template = marked_template, .says = "One two three four five six."});
    const Json limited =
        post_json(service, messages_path,
                  conversation_body(R"({"role": "user", "content": "Go"})", R"(, "max_tokens": 2)"));
    CHECK(limited["stop_reason"] == "max_tokens");
    const Json stopped =
        post_json(service, messages_path, message_body("Go", R"(, "stop_sequences": [" four"])"));
    CHECK((stopped["stop_reason"] == "stop_sequence" && stopped["stop_sequence"] == " four"));
    CHECK(stopped["content"][0]["text"] == "One two three");
}

TEST_CASE("thinking enters the prompt only if this server signed it") {
    FakeService service({.chat_template = "{% for m in messages %}<{{ m.role }}>{{ m.reasoning_content }}|"
                                          "{{ m.content }}{% endfor %}{# <think></think> #}",
                         .says = "<think>Secret plan.</think>Yes."});
    const auto count = [&](const Json& block) {
        Json body = etna::parse_json(message_body("Hi"));
        body["messages"].push_back({{"role", "assistant"}, {"content", Json::array({block})}});
        body["messages"].push_back({{"role", "user"}, {"content", "And?"}});
        return post_json(service, count_path, etna::dump_json(body))["input_tokens"].get<int>();
    };
    for (const char* const display : {"summarized", "omitted"}) {
        const Json message =
            post_json(service, messages_path,
                      message_body("Hi", std::string(R"(, "thinking": {"type": "adaptive", "display": ")") +
                                             display + "\"}"));
        Json block = message["content"][0];
        CHECK(block["type"] == "thinking");
        CHECK(block["thinking"] == (std::string(display) == "omitted" ? "" : "Secret plan."));
        const int with_thinking = count(block);
        Json changed = block;
        changed["signature"] = "AAAA" + block["signature"].get<std::string>();
        const int without = count(changed);
        CHECK(with_thinking > without);
        if (std::string(display) == "summarized") {
            changed = block;
            changed["thinking"] = "Another plan.";
            CHECK(count(changed) == without);
        } else {
            CHECK(count({{"type", "redacted_thinking"}, {"data", block["signature"]}}) == with_thinking);
        }
    }
    CHECK(count({{"type", "redacted_thinking"}, {"data", "made up"}}) <
          count({{"type", "text"}, {"text", "Some text"}}));
}

TEST_CASE("tool results reach the model together with their calls") {
    FakeService service({.chat_template = marked_template, .says = "Done."});
    const std::string history =
        R"({"role": "user", "content": "Go"},
           {"role": "assistant", "content": [{"type": "text", "text": "I look."},
               {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"x": 1}}]},
           {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true,
               "content": [{"type": "text", "text": "nothing"}]}, {"type": "text", "text": "And?"}]})";
    const Json message = post_json(service, messages_path, conversation_body(history));
    CHECK(message["content"][0]["text"] == "Done.");
    for (const char* const call :
         {R"("id": null, "name": "look", "input": {"x": 1})", R"("name": "look", "input": "{\"x")",
          R"("id": "", "name": "look", "input": null)", R"("name": "look")",
          R"("name": "look", "input": [1])"}) {
        CAPTURE(call);
        const std::string broken = R"({"role": "user", "content": "Go"}, {"role": "assistant", "content": [
            {"type": "tool_use", )" +
                                   std::string(call) + R"(}]}, {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": null, "content": "nothing"}]})";
        CHECK(post_json(service, messages_path, conversation_body(broken))["content"][0]["text"] == "Done.");
    }
    const std::string orphan =
        R"({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_9", "content": "x"}]})";
    CHECK(
        bad_request(service, conversation_body(orphan)).starts_with("`messages[0].content[0].tool_use_id`"));
    const std::string open =
        R"({"role": "user", "content": "Go"}, {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}]})";
    CHECK(bad_request(service, conversation_body(open)).find("toolu_1") != std::string::npos);
}

TEST_CASE("tool_choice is enforced") {
    FakeService service({.chat_template = marked_template});
    for (const char* const choice :
         {R"({"type": "any", "disable_parallel_tool_use": true})",
          R"({"type": "tool", "name": "look", "disable_parallel_tool_use": true})"}) {
        const Json message = post_json(
            service, messages_path,
            message_body("Go", std::string(look_tool) + R"(, "max_tokens": 200, "tool_choice": )" + choice));
        REQUIRE(message["content"].size() == 1);
        CHECK(message["content"][0]["type"] == "tool_use");
        CHECK(message["content"][0]["name"] == "look");
        CHECK(message["stop_reason"] == "tool_use");
    }
    const auto choice_error = [&](const std::string& choice) {
        return bad_request(service,
                           message_body("Go", std::string(look_tool) + ", \"tool_choice\": " + choice));
    };
    CHECK(choice_error(R"({"type": "tool", "name": "gone"})").starts_with("`tool_choice.name`"));
    CHECK(choice_error(R"({"type": "perhaps"})").starts_with("`tool_choice.type`"));
    CHECK(choice_error(R"({"type": "tool"})").starts_with("`tool_choice.name`"));
    const auto hosted = service.post(
        messages_path,
        message_body("Go",
                     R"(, "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}])"));
    CHECK(hosted.status == 200);
    CHECK(ignored_fields(hosted) == "tools[0] (web_search_20250305)");
}

TEST_CASE("an answer to a message matches the schema of its output format") {
    FakeService service({.chat_template = marked_template});
    const std::string schema = R"({"type": "json_schema", "schema": {"type": "object", "properties":
        {"city": {"enum": ["Oslo", "Rome"]}}, "required": ["city"], "additionalProperties": false}})";
    for (const std::string& member :
         {R"("output_config": {"format": )" + schema + "}", R"("output_format": )" + schema}) {
        const Json message =
            post_json(service, messages_path, message_body("Go", ", \"max_tokens\": 100, " + member));
        CAPTURE(message.dump());
        REQUIRE(!message["content"].empty());
        const Json answer = etna::parse_json(message["content"][0]["text"].get<std::string>());
        CHECK((answer["city"] == "Oslo" || answer["city"] == "Rome"));
    }
    CHECK(bad_request(
              service,
              message_body("Go", R"(, "output_config": {"format": {"type": "json_schema", "schema": 5}})"))
              .find("output_config.format.schema") != std::string::npos);
}

TEST_CASE("a final assistant message is continued") {
    FakeService service({.chat_template = plain_template, .says = "two three."});
    const Json message =
        post_json(service, messages_path,
                  conversation_body(
                      R"({"role": "user", "content": "Count"}, {"role": "assistant", "content": "One "})"));
    CHECK(message["content"][0]["text"] == " two three.");
}

TEST_CASE("all system texts reach the model except a billing header") {
    FakeService service({.chat_template = marked_template});
    const auto count = [&](const std::string& body) {
        return post_json(service, count_path, body)["input_tokens"].get<int>();
    };
    const int plain = count(message_body("Hi"));
    const int with_text = count(message_body("Hi", R"(, "system": "Be brief.")"));
    CHECK(with_text > plain);
    CHECK(count(message_body("Hi", R"(, "system": [{"type": "text", "text": "Be brief.", "cache_control":
        {"type": "ephemeral"}}])")) == with_text);
    CHECK(count(conversation_body(
              R"({"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"})")) ==
          with_text);
    const auto billed = service.post(
        count_path,
        message_body("Hi", R"(, "system": [{"type": "text", "text": "x-anthropic-billing-header: a=1"},
                                          {"type": "text", "text": "Be brief."}])"));
    CHECK(json_of(billed)["input_tokens"] == with_text);
    CHECK(ignored_fields(billed) == "system[0].text");
}

TEST_CASE("members of a message request without effect are reported") {
    FakeService service({.chat_template = marked_template});
    auto request = post_request(messages_path, message_body("Hi", R"(, "metadata": {"user_id": "u"}, "odd": 1,
        "context_management": {"edits": []}, "service_tier": "auto")"));
    request.headers["anthropic-beta"] = "a-2025-01-01, b-2025-01-01";
    const auto answer = service.ask(request);
    CHECK(answer.status == 200);
    CHECK(ignored_fields(answer) ==
          "odd, context_management, anthropic-beta: a-2025-01-01, anthropic-beta: b-2025-01-01");
}

TEST_CASE("errors of messages have the API's shape, and name the member") {
    FakeService service({.chat_template = marked_template});
    CHECK(bad_request(service, R"({"model": "stories", "messages": []})").starts_with("`max_tokens`"));
    CHECK(bad_request(service, R"({"model": "stories", "max_tokens": 5})").starts_with("`messages`"));
    CHECK(bad_request(service, R"({"model": "stories", "max_tokens": 5, "messages": []})")
              .starts_with("`messages`"));
    CHECK(bad_request(service, R"({"max_tokens": 5, "messages": [{"role": "user", "content": "x"}]})")
              .starts_with("`model`"));
    CHECK(bad_request(service, conversation_body(R"({"role": "nobody", "content": "x"})"))
              .starts_with("`messages[0].role`"));
    CHECK(bad_request(service, conversation_body(R"({"role": "user", "content": 5})"))
              .starts_with("`messages[0].content`"));
    CHECK(bad_request(service, conversation_body(R"({"role": "user", "content": [{"type": "image"}]})"))
              .find("image input is not supported") != std::string::npos);
    CHECK(bad_request(service, message_body("x", R"(, "temperature": 1.5)")).starts_with("`temperature`"));
    CHECK(
        bad_request(service, message_body("x", R"(, "thinking": {"type": "enabled", "budget_tokens": "5"})"))
            .starts_with("`thinking.budget_tokens`"));
    CHECK(bad_request(service, message_body("x", R"(, "stop_sequences": ["  "])"))
              .starts_with("`stop_sequences`"));
    CHECK(bad_request(service, message_body("x", R"(, "container": "c")")).starts_with("`container`"));
    const auto thread = service.post(messages_path, message_body("x", R"(, "thread": {"type": "create"})"));
    CHECK(message_error(thread, 400, "invalid_request_error").starts_with("`thread`"));
    CHECK(etna::parse_json(thread.body)["error"]["details"]["error_code"] == "thread_unsupported_request");
    std::string long_text;
    for (int i = 0; i < 5000; ++i)
        long_text += "word ";
    CHECK(bad_request(service, message_body(long_text)).starts_with("prompt is too long: "));
    message_error(service.post(messages_path, R"({"model": "gone", "max_tokens": 5, "messages": []})"), 404,
                  "not_found_error");
    message_error(service.get(messages_path), 405, "invalid_request_error");
    message_error(service.post(messages_path, "{"), 400, "invalid_request_error");
    FakeService::Options options;
    options.service.access.api_keys = {"right"};
    FakeService guarded(options);
    message_error(guarded.post(messages_path, message_body("x")), 401, "authentication_error");
}

TEST_CASE("models are listed in the format of the client's API") {
    FakeService service({});
    server::HttpRequest request = post_request("/v1/models", "");
    request.method = "GET";
    request.headers["anthropic-version"] = "2023-06-01";
    const Json list = json_of(service.ask(request));
    CHECK((list["has_more"] == false && list["first_id"] == "stories" && list["last_id"] == "stories"));
    CHECK((list["data"][0]["type"] == "model" && list["data"][0]["display_name"] == "stories"));
    request.path = "/v1/models/stories";
    CHECK(json_of(service.ask(request))["id"] == "stories");
    request.path = "/v1/models/gone";
    message_error(service.ask(request), 404, "not_found_error");
    CHECK(json_of(service.get("/v1/models"))["object"] == "list");
}

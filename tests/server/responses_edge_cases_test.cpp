// The Responses API at its limits: failures, truncation, storage, fields without effect.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"

#include <chrono>
#include <string>

using namespace etna;
using namespace etna::test;
using namespace std::chrono_literals;

namespace {

/// A model whose device is lost in the middle of the first answer.
FakeService::Options failing_device() {
    return {.prepare =
                [](FakeOptions& fake, int load) {
                    if (load == 1)
                        fake.lost_at_step = 6;
                },
            .chat_template = marked_template};
}

const std::string long_answer_fields = R"(, "ignore_eos": true, "max_output_tokens": 100)";

/// The header `etna-ignored` of a successful answer.
std::string ignored_with_success(const FakeAnswer& answer) {
    CAPTURE(answer.body);
    CHECK(answer.status == 200);
    return ignored_fields(answer);
}

} // namespace

TEST_CASE("a failed answer adds nothing to its conversation") {
    for (const char* const more : {"", R"(, "stream": true)", R"(, "store": false)"}) {
        CAPTURE(more);
        FakeService service(failing_device());
        const std::string conversation = new_conversation(service);
        const std::string body = R"({"input": "buy it", "conversation": ")" + conversation + "\"" +
                                 long_answer_fields + more + "}";
        const FakeAnswer failed = service.post(responses_path, body);
        CHECK(failed.body.find("lost") != std::string::npos);
        CHECK(conversation_items(service, conversation).empty());
        // The answer is a random one: without ignore_eos it may be empty.
        create_response(service, R"({"input": "buy it", "ignore_eos": true, "max_output_tokens": 4,)"
                                 R"( "conversation": ")" +
                                     conversation + "\"}");
        CHECK(conversation_items(service, conversation).size() == 2); // the question is there once
    }
}

TEST_CASE("a cancelled answer adds nothing to its conversation") {
    FakeService service({.prepare = [](FakeOptions& fake, int) { fake.step_delay = 10ms; },
                         .chat_template = marked_template});
    const std::string conversation = new_conversation(service);
    const Json started = create_response(service, R"({"input": "x", "background": true, "conversation": ")" +
                                                      conversation + "\"" + long_answer_fields + "}");
    CHECK(test::eventually([&] {
        return etna::parse_json(service.get(response_path(started)).body)["status"] == "in_progress";
    }));
    CHECK(etna::parse_json(service.post(response_path(started) + "/cancel", "").body)["status"] ==
          "cancelled");
    CHECK(conversation_items(service, conversation).empty());
}

TEST_CASE("a background response is queued until its generation starts") {
    FakeService service({.prepare =
                             [](FakeOptions& fake, int) {
                                 fake.limits.sequences_max = 1;
                                 fake.step_delay = 5ms;
                             },
                         .chat_template = marked_template});
    const std::string body = R"({"input": "x", "background": true)" + long_answer_fields + "}";
    const Json first = create_response(service, body);
    const Json second = create_response(service, body);
    CHECK(test::eventually(
        [&] { return etna::parse_json(service.get(response_path(first)).body)["status"] == "in_progress"; }));
    CHECK(etna::parse_json(service.get(response_path(second)).body)["status"] == "queued");
    // Its items are available while it is queued.
    CHECK(etna::parse_json(service.get(response_path(second) + "/input_items").body)["data"].size() == 1);
    CHECK(etna::parse_json(service.post(response_path(first) + "/cancel", "").body)["status"] == "cancelled");
    CHECK(test::eventually([&] {
        return etna::parse_json(service.get(response_path(second)).body)["status"] == "in_progress";
    }));
    CHECK(etna::parse_json(service.post(response_path(second) + "/cancel", "").body)["status"] ==
          "cancelled");
}

TEST_CASE("a pending response is not evicted by finished ones") {
    server::storage::StoreOptions two = {.responses = {.entries_max = 2}};
    FakeService service({.prepare = [](FakeOptions& fake, int) { fake.step_delay = 3ms; },
                         .chat_template = marked_template,
                         .store = two});
    const Json started =
        create_response(service, R"({"input": "x", "background": true)" + long_answer_fields + "}");
    for (int i = 0; i < 4; ++i)
        create_response(service, R"({"input": "x", "max_output_tokens": 2})");
    CHECK(service.service().persistence->store->response("", started["id"]).value().has_value());
    CHECK(test::eventually([&] {
        return etna::parse_json(service.get(response_path(started)).body)["status"] == "incomplete";
    }));
}

TEST_CASE("pagination of items ends with duplicate and empty ids") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const Json response = create_response(service, R"({"max_output_tokens": 8, "input": [
        {"id": "m", "role": "user", "content": "a"}, {"id": "m", "role": "user", "content": "b"},
        {"id": "", "role": "user", "content": "c"}, {"id": "", "role": "user", "content": "d"}]})");
    std::string seen;
    std::string after;
    for (int page = 0; page < 10; ++page) {
        const Json list = etna::parse_json(
            service.get(response_path(response) + "/input_items?limit=1&order=asc" + after).body);
        REQUIRE(list["data"].size() == 1);
        seen += list["data"][0]["content"][0]["text"].get<std::string>();
        CHECK(list["last_id"] != "");
        after = "&after=" + list["last_id"].get<std::string>();
        if (list["has_more"] == false)
            break;
    }
    CHECK(seen == "abcd");
}

TEST_CASE("truncation drops as few items as possible") {
    FakeService service({.chat_template = marked_template, .says = "a dog"}); // 512 tokens of context
    const auto body = [](int count, const std::string& more) {
        std::string items;
        for (int i = 0; i < count; ++i)
            items += R"({"role": "user", "content": "Once upon a time there was a dog."},)";
        return R"({"input": [)" + items + R"({"role": "user", "content": "End."}])" + more + "}";
    };
    const std::size_t one = input_tokens(service, body(2, "")) - input_tokens(service, body(1, ""));
    for (const std::size_t answer : {8U, 100U}) {
        const std::string options =
            R"(, "truncation": "auto", "max_output_tokens": )" + std::to_string(answer);
        const Json response = create_response(service, body(60, options));
        const auto tokens = response["usage"]["input_tokens"].get<std::size_t>();
        CHECK(tokens + answer <= 512);
        CHECK(tokens + one + answer > 512); // one more item would not fit with the answer
        CHECK(input_tokens(service, body(60, options)) == tokens);
    }
    CHECK(input_tokens(service, body(60, "")) > 512);
}

TEST_CASE("truncation keeps a final result with its call, or fails if both are too long") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    std::string words;
    for (int i = 0; i < 300; ++i)
        words += "once ";
    const std::string prefix = R"({"input": [{"role": "user", "content": "hi"},)";
    const std::string call = R"({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},)";
    const auto request_with = [&](const std::string& output) {
        return prefix + call + R"({"type": "function_call_output", "call_id": "a", "output": ")" + output +
               R"("}], "truncation": "auto", "max_output_tokens": 8})";
    };
    CHECK(error_of(service.post(responses_path, request_with(words)))["code"] == "context_length_exceeded");
    const std::string long_prefix = R"({"input": [{"role": "user", "content": ")" + words + R"("},)";
    const Json fits =
        create_response(service, long_prefix + call +
                                     R"({"type": "function_call_output", "call_id": "a", "output": "seen"}],
                           "truncation": "auto", "max_output_tokens": 8})");
    CHECK(fits["etna"]["dropped_items"] == 1);
}

TEST_CASE("a result requires a call of its kind, in conversations as well") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const std::string call = R"({"type": "custom_tool_call", "call_id": "a", "name": "f", "input": "x"})";
    const std::string wrong = R"({"type": "function_call_output", "call_id": "a", "output": "x"})";
    const std::string right = R"({"type": "custom_tool_call_output", "call_id": "a", "output": "x"})";
    CHECK(error_of(service.post(responses_path, R"({"input": [)" + call + "," + wrong + "]}"))["code"] ==
          "tool_call_not_found");
    create_response(service, R"({"max_output_tokens": 2, "input": [)" + call + "," + right + "]}");
    CHECK(error_of(service.post(conversations_path, R"({"items": [)" + right + "]}"))["param"] == "items");
    const std::string path = std::string(conversations_path) + "/" + new_conversation(service) + "/items";
    CHECK(error_of(service.post(path, R"({"items": [)" + right + "]}"))["code"] == "tool_call_not_found");
    CHECK(service.post(path, R"({"items": [)" + call + "]}").status == 200);
    CHECK(error_of(service.post(path, R"({"items": [)" + wrong + "]}"))["code"] == "tool_call_not_found");
    CHECK(service.post(path, R"({"items": [)" + right + "]}").status == 200);
}

TEST_CASE("results match the calls of a conversation, sealed or deleted") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const std::string call = R"({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"})";
    const std::string result = R"({"type": "function_call_output", "call_id": "a", "output": "x"})";
    const Json sealed = etna::parse_json(service
                                             .post("/v1/responses/compact", R"({"model": "stories", "input": [
        {"role": "user", "content": "x"}, )" + call + "]}")
                                             .body);
    const std::string sealed_conversation = etna::parse_json(
        service.post(conversations_path, etna::dump_json(Json({{"items", sealed["output"]}}))).body)["id"];
    const std::string path = std::string(conversations_path) + "/" + sealed_conversation;
    CHECK(service.post(path + "/items", R"({"items": [)" + result + "]}").status == 200);
    CHECK(service.post(std::string(conversations_path) + "/nowhere/items", R"({"items": [)" + result + "]}")
              .status == 404);
    // Deleting a call removes its result, too.
    const std::string other = new_conversation(service);
    const std::string item_path = std::string(conversations_path) + "/" + other;
    const Json added = etna::parse_json(
        service.post(item_path + "/items", R"({"items": [)" + call + "," + result + "]}").body);
    CHECK(service.remove(item_path + "/items/" + added["data"][0]["id"].get<std::string>()).status == 200);
    create_response(service, R"({"input": "x", "max_output_tokens": 4, "conversation": ")" + other + "\"}");
    // A referenced item of the conversation is not added again.
    const Json first = conversation_items(service, other)[0];
    create_response(service, R"({"store": false, "max_output_tokens": 4, "conversation": ")" + other +
                                 R"(", "input": [{"type": "item_reference", "id": ")" +
                                 first["id"].get<std::string>() +
                                 R"("}, {"role": "user", "content": "x"}]})");
    CHECK(conversation_items(service, other).size() == 5);
    const Json with_empty_id = etna::parse_json(
        service.post(item_path + "/items", R"({"items": [{"role": "user", "content": "x", "id": ""}]})")
            .body);
    CHECK(with_empty_id["first_id"] != "");
}

TEST_CASE("fields without effect are reported at every level") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    CHECK(ignored_with_success(
              service.post(responses_path, R"({"input": "x", "max_output_tokens": 2, "text": {"bogus": 1,
        "format": {"type": "text", "odd": 1}}, "reasoning": {"more": 1}, "messages": [], "unheard": 1,
        "tools": [{"type": "function", "name": "f", "parameters": {}, "new": 1}]})")) ==
          "messages, unheard, tools[0].new, text.bogus, text.format.odd, reasoning.more");
    CHECK(ignored_with_success(
              service.post(responses_path, R"({"input": "x", "max_output_tokens": 2, "stream": true,
        "stream_options": {"include_obfuscation": true, "foo": 1}})")) ==
          "stream_options.foo, stream_options.include_obfuscation");
    CHECK(ignored_with_success(
              service.post("/v1/responses/input_tokens", R"({"input": "x", "unheard": 1})")) == "unheard");
    CHECK(ignored_with_success(service.post(
              "/v1/responses/compact", R"({"model": "stories", "input": "x", "unheard": 1})")) == "unheard");
    CHECK(ignored_with_success(service.post(conversations_path, R"({"unheard": 1})")) == "unheard");
    const std::string path = std::string(conversations_path) + "/" + new_conversation(service);
    CHECK(ignored_with_success(service.post(path, R"({"metadata": {}, "items": []})")) == "items");
    CHECK(ignored_with_success(service.post(path + "/items", R"({"metadata": {}, "items": []})")) ==
          "metadata");
    const FakeAnswer strict = post_strictly(service, path, R"({"metadata": {}, "items": []})");
    CHECK(error_of(strict)["code"] == "unknown_parameter");
}

TEST_CASE("cache and reasoning options are checked and repeated in the response") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const Json response = create_response(service, R"({"input": "x", "max_output_tokens": 2,
        "prompt_cache_retention": "24h", "prompt_cache_options": {"mode": "explicit"},
        "reasoning": {"context": "current_turn", "mode": "standard"}})");
    CHECK(response["prompt_cache_retention"] == "24h");
    CHECK(response["prompt_cache_options"] == Json({{"ttl", "30m"}, {"mode", "explicit"}}));
    CHECK(
        (response["reasoning"]["context"] == "current_turn" && response["reasoning"]["mode"] == "standard"));
    for (const char* const wrong :
         {R"("stream": true, "stream_options": {"include_obfuscation": "x"})",
          R"("tools": [{"type": "function", "name": "f"}, {"type": "custom", "name": "f"}])"}) {
        CAPTURE(wrong);
        error_of(service.post(responses_path, R"({"input": "x", )" + std::string(wrong) + "}"));
    }
}

TEST_CASE("null removes metadata") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const std::string path =
        std::string(conversations_path) + "/" +
        etna::parse_json(service.post(conversations_path, R"({"metadata": {"a": "b"}})").body)["id"]
            .get<std::string>();
    CHECK(etna::parse_json(service.post(path, R"({"metadata": null})").body)["metadata"] == Json::object());
    CHECK(error_of(service.post(path, "{}"))["code"] == "missing_required_parameter");
    const Json chat = etna::parse_json(service
                                           .post("/v1/chat/completions", R"({"store": true, "max_tokens": 2,
        "metadata": {"a": "b"}, "messages": [{"role": "user", "content": "x"}]})")
                                           .body);
    const std::string item_path = "/v1/chat/completions/" + chat["id"].get<std::string>();
    CHECK(etna::parse_json(service.post(item_path, R"({"metadata": null})").body)["metadata"] ==
          Json::object());
}

TEST_CASE("input_tokens counts requests without input") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const std::size_t empty = input_tokens(service, "{}");
    CHECK(empty == input_tokens(service, R"({"input": ""})"));
    CHECK(input_tokens(service, R"({"instructions": "be nice"})") > empty / 2);
    CHECK(ignored_with_success(service.post("/v1/responses/input_tokens", R"({"unheard": 1})")) == "unheard");
    CHECK(error_of(service.post("/v1/responses/input_tokens", R"({"temperature": 99})"))["param"] ==
          "temperature");
}

TEST_CASE("an unknown dialect and unknown paths are refused") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const FakeAnswer odd = service.ask({.method = "POST",
                                        .path = responses_path,
                                        .headers = {{"host", "127.0.0.1"}, {"etna-dialect", "klingon"}},
                                        .body = response_body("x")});
    CHECK(error_of(odd)["param"] == "etna-dialect");
    CHECK(service.remove("/v1/responses/x/cancel").status == 405);
    CHECK(service.get("/v1/models/some/where").status == 404);
}

TEST_CASE("log-probabilities are those of the returned text") {
    FakeService service({.chat_template = marked_template, .says = "a dog and a cat"});
    const std::string request = R"({"input": "x", "max_output_tokens": 60, "temperature": 0,
        "include": ["message.output_text.logprobs"])";
    const auto joined = [](const Json& logprobs) {
        std::string text;
        for (const Json& token : logprobs)
            text += token["token"].get<std::string>();
        return text;
    };
    const Json complete = create_response(service, request + "}")["output"][0]["content"][0];
    CHECK(joined(complete["logprobs"]).find("a dog and a cat") != std::string::npos);
    const std::string stop = R"(, "stop": [" and"])";
    const Json stopped = create_response(service, request + stop + "}")["output"][0]["content"][0];
    CHECK(stopped["text"] == "a dog");
    CHECK(joined(stopped["logprobs"]).find("and") == std::string::npos);
    CHECK(joined(stopped["logprobs"]).find("a dog") != std::string::npos);
    Json streamed = Json::array();
    for (const Json& event :
         events_of(service.post(responses_path, request + stop + R"(, "stream": true})").body)) {
        for (const Json& token :
             event["type"] == "response.output_text.delta" ? event["logprobs"] : Json::array())
            streamed.push_back(token);
    }
    CHECK(streamed == stopped["logprobs"]);
}

TEST_CASE("truncation drops complete turns if a template requires alternating roles") {
    const std::string strict = "{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
                               "{{ raise_exception('roles must alternate') }}{% endif %}"
                               "<{{ m.role }}>{{ m.content }}</end>{% endfor %}<assistant>";
    FakeService service({.chat_template = strict, .says = "a dog"});
    std::string items;
    for (int i = 0; i < 30; ++i) {
        items += R"({"role": "user", "content": "Once upon a time there was a dog."},)"
                 R"({"role": "assistant", "content": "And a cat."},)";
    }
    const std::string body = R"({"truncation": "auto", "max_output_tokens": 8, "input": [)" + items +
                             R"({"role": "user", "content": "End."}])";
    const Json response = create_response(service, body + "}");
    CHECK(response["etna"]["dropped_items"].get<int>() % 2 == 0);
    CHECK(response["usage"]["input_tokens"] > 440); // nearly fills the 512 tokens
}

TEST_CASE("an empty background answer passes through all states") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const auto events =
        events_of(service
                      .post(responses_path, R"({"input": "x", "background": true, "stream": true,
        "max_output_tokens": 20, "stop": ["a"]})")
                      .body);
    REQUIRE(events.size() >= 4);
    CHECK(events[0]["type"] == "response.created");
    CHECK(events[1]["type"] == "response.queued");
    CHECK(events[2]["type"] == "response.in_progress");
    CHECK(events.back()["type"] == "response.completed");
}

TEST_CASE("etna.schema lenient drops unenforceable keywords, as in chats") {
    FakeService service({.chat_template = marked_template});
    const std::string format =
        R"(, "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "array",
        "items": {"const": {}}, "uniqueItems": true}}})";
    const Json error = error_of(service.post(responses_path, response_body("Go", format)));
    CHECK(error["param"] == "text.format.schema");
    CHECK(error["message"].get<std::string>().ends_with("(`etna.schema`: \"lenient\")"));
    CHECK(service.post(responses_path, response_body("Go", format + R"(, "etna": {"schema": "lenient"})"))
              .status == 200);
    const Json wrong =
        error_of(service.post(responses_path, response_body("Go", format + R"(, "etna": {"schema": "x"})")));
    CHECK(wrong["param"] == "etna.schema");
}

TEST_CASE("unstored responses of one key are not released for those of another") {
    using server::responses::ResponseStream;
    server::responses::RunningResponses runs;
    const auto hold = [&](const std::string& id, const std::string& owner) {
        const auto stream = std::make_shared<ResponseStream>(id, owner, false);
        runs.add(stream);
        runs.hold(stream);
    };
    hold("mine", "light");
    for (std::size_t i = 0; i < server::responses::RunningResponses::unstored_max + 5; ++i)
        hold(std::to_string(i), "heavy");
    CHECK(runs.find("light", "mine") != nullptr);
    CHECK(runs.find("heavy", "0") == nullptr);
    CHECK(runs.find("heavy", "100") != nullptr);
}

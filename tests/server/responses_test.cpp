// The Responses API on a fake model: objects, events, chains, storage.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

using namespace etna;
using namespace etna::test;
using namespace std::chrono_literals;

TEST_CASE("a response has the members that clients read") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const Json response =
        create_response(service, response_body("Hello", R"(, "metadata": {"a": "b"}, "user": "me")"));
    CHECK(response["object"] == "response");
    CHECK(response["id"].get<std::string>().starts_with("resp_"));
    CHECK(response["status"] == "completed");
    CHECK(response["created_at"].is_number_integer());
    CHECK(response["completed_at"].is_number_integer());
    CHECK(response["error"].is_null());
    CHECK(response["output_text"] == "a dog");
    REQUIRE(response["output"].size() == 1);
    const Json& message = response["output"][0];
    CHECK(
        (message["type"] == "message" && message["role"] == "assistant" && message["status"] == "completed"));
    CHECK(message["content"][0]["type"] == "output_text");
    CHECK(message["content"][0]["text"] == "a dog");
    CHECK(message["content"][0]["annotations"].is_array());
    CHECK(response["metadata"]["a"] == "b");
    CHECK(response["safety_identifier"] == "me");
    for (const char* name : {"temperature", "top_p", "presence_penalty", "frequency_penalty", "top_logprobs"})
        CHECK(response[name].is_number());
    for (const char* name : {"instructions", "previous_response_id", "conversation", "incomplete_details",
                             "max_tool_calls", "prompt_cache_key"})
        CHECK((response.contains(name) && response[name].is_null()));
    CHECK(response["text"]["verbosity"] == "medium");
    CHECK((response["truncation"] == "disabled" && response["store"] == true &&
           response["background"] == false));
    const Json& usage = response["usage"];
    CHECK(usage["input_tokens"].get<int>() + usage["output_tokens"].get<int>() == usage["total_tokens"]);
    CHECK(usage["output_tokens_details"]["reasoning_tokens"] == 0);
}

TEST_CASE("a stream has all events in order, and its replay is identical") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const std::string stream =
        service.post(responses_path, response_body("Hello", R"(, "stream": true)")).body;
    const auto events = events_of(stream);
    CHECK(types_of(events) ==
          std::vector<std::string>{"response.created", "response.in_progress", "response.output_item.added",
                                   "response.content_part.added", "response.output_text.delta",
                                   "response.output_text.done", "response.content_part.done",
                                   "response.output_item.done", "response.completed"});
    std::string text;
    for (std::size_t i = 0; i < events.size(); ++i) {
        CHECK(events[i]["sequence_number"] == i);
        if (events[i]["type"] == "response.output_text.delta")
            text += events[i]["delta"].get<std::string>();
    }
    CHECK(text == "a dog");
    for (const std::size_t early : {0, 1}) { // a member that is not known yet is null
        const Json& response = events[early]["response"];
        CHECK((response.contains("usage") && response["usage"].is_null()));
    }
    const Json last = events.back()["response"];
    CHECK(last["output_text"] == text);
    CHECK(last["usage"]["output_tokens"] > 0);
    const std::string id = last["id"];
    const std::string path = std::string(responses_path) + "/" + id;
    CHECK(etna::parse_json(service.get(path).body) == last);
    CHECK(service.get(path + "?stream=true").body == stream);
    for (const std::size_t after : {0, 3, 5}) {
        const std::string rest =
            service.get(path + "?stream=true&starting_after=" + std::to_string(after)).body;
        CHECK(stream.ends_with(rest));
        CHECK(events_of(rest).front()["sequence_number"] == after + 1);
    }
    CHECK(error_of(service.get(path + "?stream=true&starting_after=x"))["param"] == "starting_after");
}

TEST_CASE("a slow stream sends progress events, numbered without gaps") {
    server::ServiceOptions options;
    options.reassuring_interval = 20ms;
    FakeService service({.service = options,
                         .prepare = [](test::FakeOptions& fake, int) { fake.step_delay = 150ms; },
                         .chat_template = marked_template,
                         .says = "a dog"});
    const auto events =
        events_of(service.post(responses_path, response_body("Hello", R"(, "stream": true)")).body);
    const auto progress_events = std::count_if(events.begin(), events.end(), [](const Json& event) {
        return event["type"] == "response.in_progress" && event["response"]["status"] == "in_progress";
    });
    CHECK(progress_events > 2); // every stream starts with one
    for (std::size_t i = 0; i < events.size(); ++i)
        CHECK(events[i]["sequence_number"] == i);
    CHECK(events.back()["type"] == "response.completed");
}

TEST_CASE("errors have the types of Open Responses with etna-dialect") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const auto type = [&](const std::string& method, const std::string& path, const std::string& body) {
        const FakeAnswer answer =
            service.ask({.method = method,
                         .path = path,
                         .headers = {{"host", "127.0.0.1"}, {"etna-dialect", "open-responses"}},
                         .body = body});
        return etna::parse_json(answer.body)["error"]["type"].get<std::string>();
    };
    CHECK(type("POST", responses_path, "{}") == "invalid_request");
    CHECK(type("GET", std::string(responses_path) + "/resp_none", "") == "not_found");
    CHECK(type("GET", "/nowhere", "") == "not_found");
    CHECK(error_of(service.post(responses_path, "{}"))["type"] == "invalid_request_error");
}

TEST_CASE("seventeen concurrent responses are queued, and none is refused") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    std::vector<std::thread> clients;
    std::atomic<int> answered{0};
    for (int i = 0; i < 17; ++i) {
        clients.emplace_back([&service, &answered] {
            const FakeAnswer answer = service.post(responses_path, response_body("Hello"));
            answered +=
                answer.status == 200 && etna::parse_json(answer.body)["output_text"] == "a dog" ? 1 : 0;
        });
    }
    for (std::thread& client : clients)
        client.join();
    CHECK(answered == 17);
}

TEST_CASE("a response continues another, which can then be deleted") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const Json first = create_response(service, response_body("One", R"(, "instructions": "Be brief.")"));
    const std::string previous = previous_response(first);
    const std::size_t alone = input_tokens(service, response_body("Two"));
    const std::size_t chained = input_tokens(service, response_body("Two", previous));
    CHECK(chained > alone);
    // Instructions are not inherited: only the first turn is added.
    const std::string explicit_items =
        R"({"input": [{"role": "user", "content": "One"}, {"role": "assistant", "content": "a dog"},
            {"role": "user", "content": "Two"}]})";
    CHECK(chained == input_tokens(service, explicit_items));
    const Json second = create_response(service, response_body("Two", previous));
    CHECK(second["previous_response_id"] == first["id"]);
    CHECK(second["usage"]["input_tokens_details"]["cached_tokens"].get<int>() >= 0);
    const std::string path = response_path(first);
    CHECK(etna::parse_json(service.remove(path).body)["deleted"] == true);
    CHECK(service.get(path).status == 404);
    CHECK(service.remove(path).status == 404);
    CHECK(error_of(service.post(responses_path, response_body("Two", previous)))["code"] ==
          "previous_response_not_found");
    const std::string onward = previous_response(second);
    CHECK(input_tokens(service, response_body("Three", onward)) > chained);
}

TEST_CASE("a response with store false is not stored") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const Json response = create_response(service, response_body("Hello", R"(, "store": false)"));
    CHECK(response["store"] == false);
    CHECK(service.get(response_path(response)).status == 404);
    FakeService storeless({.chat_template = marked_template, .says = "a dog", .store = std::nullopt});
    const Json unstored = create_response(storeless, response_body("Hello"));
    CHECK(unstored["store"] == false);
    CHECK(storeless.get(response_path(unstored)).status == 404);
    CHECK(error_of(storeless.post(responses_path,
                                  response_body("x", R"(, "previous_response_id": "resp_1")")))["param"] ==
          "previous_response_id");
}

TEST_CASE("the items of a request are paginated") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const Json response = create_response(service, R"({"max_output_tokens": 9, "input": [
        {"role": "user", "content": "1"}, {"role": "assistant", "content": "2"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "3"}]}]})");
    const std::string path = response_path(response) + "/input_items";
    const auto texts = [&](const std::string& query) {
        const Json list = etna::parse_json(service.get(path + query).body);
        std::string all;
        for (const Json& item : list["data"])
            all += item["content"][0]["text"].get<std::string>();
        return all + (list["has_more"] == true ? "+" : "");
    };
    CHECK(texts("") == "321");
    CHECK(texts("?order=asc") == "123");
    CHECK(texts("?order=asc&limit=2") == "12+");
    const Json list = etna::parse_json(service.get(path + "?order=asc&limit=1").body);
    CHECK(list["object"] == "list");
    CHECK(list["first_id"] == list["last_id"]);
    CHECK(texts("?order=asc&after=" + list["last_id"].get<std::string>()) == "23");
    CHECK(error_of(service.get(path + "?limit=0"))["param"] == "limit");
    CHECK(error_of(service.get(path + "?order=up"))["param"] == "order");
    CHECK(error_of(service.get(path + "?after=nowhere"))["param"] == "after");
}

TEST_CASE("a background response is found immediately, and complete later") {
    FakeService service({.prepare = [](test::FakeOptions& fake, int) { fake.step_delay = 3ms; },
                         .chat_template = marked_template,
                         .says = "a dog and a cat and a dog"});
    const Json queued = create_response(service, response_body("Hello", R"(, "background": true)"));
    CHECK(queued["status"] == "queued");
    const std::string path = response_path(queued);
    std::string status;
    CHECK(test::eventually([&] {
        status = etna::parse_json(service.get(path).body)["status"];
        CHECK((status == "queued" || status == "in_progress" || status == "completed"));
        return status == "completed";
    }));
    CHECK(etna::parse_json(service.get(path).body)["output_text"] == "a dog and a cat and a dog");
    const std::string stream =
        service.post(responses_path, response_body("Hello", R"(, "background": true, "stream": true)")).body;
    const auto events = events_of(stream);
    CHECK(events[1]["type"] == "response.queued");
    CHECK(events.back()["type"] == "response.completed");
    CHECK(error_of(service.post(responses_path,
                                response_body("x", R"(, "background": true, "store": false)")))["param"] ==
          "background");
}

TEST_CASE("a background response can be cancelled") {
    FakeService service({.prepare = [](test::FakeOptions& fake, int) { fake.step_delay = 20ms; },
                         .chat_template = marked_template});
    const Json queued = create_response(
        service, R"({"input": "x", "background": true, "max_output_tokens": 400, "ignore_eos": true})");
    const std::string path = response_path(queued);
    const FakeAnswer cancelled = service.post(path + "/cancel", "");
    CAPTURE(cancelled.body);
    CHECK(etna::parse_json(cancelled.body)["status"] == "cancelled");
    CHECK(etna::parse_json(service.get(path).body)["status"] == "cancelled");
    CHECK(service.post(std::string(responses_path) + "/nowhere/cancel", "").status == 404);
}

TEST_CASE("a truncated answer is incomplete, with its reason") {
    FakeService service({.chat_template = marked_template, .says = "a dog and a cat"});
    const Json response = create_response(service, R"({"input": "x", "max_output_tokens": 2})");
    CHECK(response["status"] == "incomplete");
    CHECK(response["incomplete_details"]["reason"] == "max_output_tokens");
    CHECK(response["output"].back()["status"] == "incomplete");
}

TEST_CASE("truncation auto drops items that do not fit") {
    FakeService service({.chat_template = marked_template, .says = "a dog"}); // 512 tokens of context
    std::string items;
    for (int i = 0; i < 60; ++i)
        items += R"({"role": "user", "content": "Once upon a time there was a dog."},)";
    const std::string body = R"({"input": [)" + items + R"({"role": "user", "content": "End."}])";
    const Json error = error_of(service.post(responses_path, body + "}"));
    CHECK(error["code"] == "context_length_exceeded");
    CHECK(error["param"] == "input");
    const Json response =
        create_response(service, body + R"(, "truncation": "auto", "max_output_tokens": 8})");
    CHECK(response["truncation"] == "auto");
    CHECK(response["etna"]["dropped_items"] > 0);
}

TEST_CASE("a response is visible only to its API key") {
    server::ServiceOptions options;
    options.access.api_keys = {"one", "two"};
    FakeService service({.service = options, .chat_template = marked_template, .says = "a dog"});
    const auto ask = [&](const std::string& method, const std::string& path, const std::string& key,
                         const std::string& body = "") {
        return service.ask({.method = method,
                            .path = path,
                            .headers = {{"host", "127.0.0.1"}, {"authorization", "Bearer " + key}},
                            .body = body});
    };
    const std::string id =
        etna::parse_json(ask("POST", responses_path, "one", response_body("Hello")).body)["id"];
    const std::string path = std::string(responses_path) + "/" + id;
    CHECK(ask("GET", path, "one").status == 200);
    CHECK(ask("GET", path, "two").status == 404);
    CHECK(ask("DELETE", path, "two").status == 404);
    CHECK(ask("POST", responses_path, "two", response_body("x", R"(, "previous_response_id": ")" + id + "\""))
              .status == 400);
}

TEST_CASE("a conversation has the items of its responses and of clients") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const std::string root = "/v1/conversations";
    const Json created = etna::parse_json(
        service.post(root, R"({"metadata": {"a": "b"}, "items": [{"role": "user", "content": "One"}]})")
            .body);
    CHECK((created["object"] == "conversation" && created["metadata"]["a"] == "b" &&
           created["created_at"] > 0));
    const std::string path = root + "/" + created["id"].get<std::string>();
    const std::string in_conversation = R"(, "conversation": ")" + created["id"].get<std::string>() + "\"";
    const Json response = create_response(service, response_body("Two", in_conversation));
    CHECK(response["conversation"]["id"] == created["id"]);
    const Json items = etna::parse_json(service.get(path + "/items?order=asc").body)["data"];
    REQUIRE(items.size() == 3);
    CHECK(items[0]["content"][0]["text"] == "One");
    CHECK(items[1]["content"][0]["text"] == "Two");
    CHECK(items[2] == response["output"][0]);
    const std::string item = path + "/items/" + items[0]["id"].get<std::string>();
    CHECK(etna::parse_json(service.get(item).body) == items[0]);
    const std::size_t before = input_tokens(service, response_body("Three", in_conversation));
    CHECK(etna::parse_json(service.remove(item).body)["id"] == created["id"]);
    CHECK(service.get(item).status == 404);
    CHECK(input_tokens(service, response_body("Three", in_conversation)) < before);
    const Json added = etna::parse_json(
        service.post(path + "/items", R"({"items": [{"role": "user", "content": "Four"}]})").body);
    CHECK(added["data"][0]["content"][0]["text"] == "Four");
    CHECK(etna::parse_json(service.post(path, R"({"metadata": {"c": "d"}})").body)["metadata"] ==
          Json({{"c", "d"}}));
    CHECK(etna::parse_json(service.get(path).body)["metadata"] == Json({{"c", "d"}}));
    CHECK(etna::parse_json(service.remove(path).body)["object"] == "conversation.deleted");
    CHECK(service.get(path).status == 404);
    CHECK(service.get(path + "/items").status == 404);
    CHECK(error_of(service.post(responses_path, response_body("x", in_conversation)), 404)["code"] ==
          "conversation_not_found");
    CHECK(error_of(service.post(root, R"({"items": 5})"))["param"] == "items");
    CHECK(error_of(service.post(path + "/items", "{}"))["param"] == "items");
}

TEST_CASE("errors in requests name the field") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const std::vector<std::pair<std::string, std::string>> wrong = {
        {R"({})", "input"},
        {R"({"input": 5})", "input"},
        {R"({"input": [5]})", "input[0]"},
        {R"({"input": [{"role": "judge", "content": "x"}]})", "input[0].role"},
        {R"({"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]})",
         "input[0].content[0]"},
        {R"({"input": [{"type": "web_search_call"}]})", "input[0].type"},
        {R"({"input": [{"type": "function_call_output", "output": "x"}]})", "input[0].call_id"},
        {R"({"input": [{"type": "compaction", "encrypted_content": "AAAA"}]})", "input[0]"},
        {R"({"input": "x", "max_output_tokens": 0})", "max_output_tokens"},
        {R"({"input": "x", "temperature": 3})", "temperature"},
        {R"({"input": "x", "top_logprobs": 21})", "top_logprobs"},
        {R"({"input": "x", "tools": [{"type": ""}]})", "tools[0].type"},
        {R"({"input": "x", "tools": [{"type": "function"}]})", "tools[0].name"},
        {R"({"input": "x", "tools": [{"type": "custom", "name": "n", "format":
            {"type": "grammar", "syntax": "peg", "definition": "start: \"a\""}}]})",
         "tools[0].format.syntax"},
        {R"({"input": "x", "tool_choice": "required"})", "tool_choice"},
        {R"({"input": "x", "tool_choice": {"type": "mcp"}})", "tool_choice"},
        {R"({"input": "x", "text": {"format": {"type": "json_schema", "name": "n"}}})", "text.format.schema"},
        {R"({"input": "x", "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "dict"}}}})",
         "text.format.schema"},
        {R"({"input": "x", "metadata": {"a": 5}})", "metadata.a"},
        {R"({"input": "x", "conversation": 5})", "conversation"},
        {R"({"input": "x", "conversation": "c", "previous_response_id": "r"})", "conversation"},
        {R"({"input": "x", "include": [5]})", "include[0]"},
        {R"({"input": "x", "stream_options": {}})", "stream_options"},
        {R"({"input": "x", "truncation": "some"})", "truncation"}};
    for (const auto& [body, param] : wrong) {
        const FakeAnswer answer = service.post(responses_path, body);
        CAPTURE(body, answer.body);
        CHECK(answer.status >= 400);
        CHECK(answer.status < 500);
        CHECK(etna::parse_json(answer.body)["error"].value("param", "none") == param);
    }
}

TEST_CASE("a server without a store refuses requests that need it") {
    FakeService storeless({.chat_template = marked_template, .says = "a dog", .store = std::nullopt});
    CHECK(error_of(storeless.post(
              responses_path, response_body("Hello", R"(, "background": true)")))["param"] == "background");
    CHECK(create_response(storeless, response_body("Hello"))["store"] == false);
    server::storage::StoreOptions chats_only = {.completions = {.entries_max = 10}};
    FakeService other({.chat_template = marked_template, .says = "a dog", .store = chats_only});
    CHECK(error_of(other.post(responses_path, response_body("Hello", R"(, "background": true)")))["param"] ==
          "background");
    CHECK(error_of(other.post(responses_path,
                              response_body("Hello", R"(, "previous_response_id": "x")")))["param"] ==
          "previous_response_id");
    CHECK(other.post("/v1/conversations", "{}").status == 400);
}

TEST_CASE("a response has one answer, and reports fields without effect") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    CHECK(error_of(service.post(responses_path, response_body("Hello", R"(, "n": 2)")))["param"] == "n");
    for (const char* const more : {"", R"(, "stream": true)"}) {
        const FakeAnswer answer =
            service.post(responses_path, response_body("Hello", std::string(R"(, "odd": 1)") + more));
        CHECK(answer.headers.at("etna-ignored") == "odd");
    }
}

TEST_CASE("a prompt without removable items fails if it is too long") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    std::string words;
    for (int i = 0; i < 600; ++i)
        words += "once ";
    const std::string body = R"({"input": [], "truncation": "auto", "instructions": ")" + words + "\"";
    CHECK(error_of(service.post(responses_path, body + "}"))["code"] == "context_length_exceeded");
    CHECK(error_of(service.post(responses_path, body + R"(, "background": true})"))["code"] ==
          "context_length_exceeded");
}

TEST_CASE("only streamed responses have events, while running and later") {
    FakeService service({.prepare = [](test::FakeOptions& fake, int) { fake.step_delay = 20ms; },
                         .chat_template = marked_template,
                         .says = "a dog"});
    const Json created = create_response(service, response_body("Hello", R"(, "background": true)"));
    const std::string path = response_path(created);
    CHECK(error_of(service.get(path + "?stream=true"))["param"] == "stream");
    CHECK(error_of(service.get(path + "?stream=true&starting_after=9223372036854775807"))["param"] ==
          "stream");
    REQUIRE(
        test::eventually([&] { return etna::parse_json(service.get(path).body)["status"] == "completed"; }));
    CHECK(error_of(service.get(path + "?stream=true"))["param"] == "stream");
    CHECK(service.post(path + "/cancel", "").status == 200);
    const std::string complete = create_response(service, response_body("Hello"))["id"];
    CHECK(error_of(service.post(std::string(responses_path) + "/" + complete + "/cancel", ""))["code"] ==
          "not_in_background");
}

TEST_CASE("a response whose client disconnected is not stored or added to its conversation") {
    FakeService service({.prepare = [](test::FakeOptions& fake, int) { fake.step_delay = 5ms; },
                         .chat_template = marked_template});
    const std::string id = new_conversation(service);
    const std::string body = response_body("Hello", R"(, "ignore_eos": true, "conversation": ")" + id + "\"");
    const FakeAnswer left = service.ask({.method = "POST",
                                         .path = responses_path,
                                         .headers = {{"host", "127.0.0.1"}},
                                         .body = body,
                                         .is_client_gone = [calls = 0]() mutable { return ++calls > 20; }});
    const std::string name = etna::parse_json(left.body).value("id", "none");
    CHECK(etna::parse_json(left.body)["status"] == "cancelled");
    CHECK(service.get(std::string(responses_path) + "/" + name).status == 404);
    CHECK(etna::parse_json(service.get("/v1/conversations/" + id + "/items").body)["data"].empty());
    const std::string metrics = service.get("/metrics").body;
    CHECK(metrics.find(R"(endpoint="responses",stream="false",status="499"} 1)") != std::string::npos);
    CHECK(metrics.find("etna_client_disconnects_total{model=\"stories\"} 1\n") != std::string::npos);
}

TEST_CASE("a background response that cannot be stored fails with the reason") {
    server::storage::StoreOptions small = {.responses = {.entries_max = 10}, .bytes_max = 3000};
    FakeService service({.chat_template = marked_template, .store = small});
    const Json created =
        create_response(service, R"({"input": "Hello", "max_output_tokens": 400, "temperature": 0,
        "ignore_eos": true, "background": true})");
    const std::string path = response_path(created);
    Json found = created;
    (void)test::eventually([&] {
        found = etna::parse_json(service.get(path).body);
        return found["status"] != "queued" && found["status"] != "in_progress";
    });
    CHECK(found["status"] == "failed");
    CHECK(found["error"]["message"].get<std::string>().find("the response store failed: ") !=
          std::string::npos);
    CHECK(found["error"]["code"] == "server_error");
    CHECK(error_of(service.post(responses_path, response_body("x", previous_response(created))))["code"] ==
          "previous_response_interrupted");
    CHECK(service.remove(path).status == 200);
    CHECK(service.get(path).status == 404);
}

TEST_CASE("a conversation gets the items of responses that are not stored") {
    server::storage::StoreOptions conversations_only = {.conversations = {.entries_max = 10}};
    FakeService service({.chat_template = marked_template, .says = "a dog", .store = conversations_only});
    const std::string id = new_conversation(service);
    create_response(service, response_body("Hello", R"(, "conversation": ")" + id + "\""));
    create_response(service, response_body("Hello", R"(, "store": false, "conversation": ")" + id + "\""));
    CHECK(etna::parse_json(service.get("/v1/conversations/" + id + "/items").body)["data"].size() == 4);
    const std::string orphan_result =
        R"({"items": [{"type": "function_call_output", "call_id": "a", "output": "x"}]})";
    CHECK(error_of(service.post("/v1/conversations/" + id + "/items", orphan_result))["param"] == "items");
    CHECK(service.post(responses_path, response_body("Hello", R"(, "conversation": ")" + id + "\"")).status ==
          200);
}

TEST_CASE("truncation drops results with their calls") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    std::string words;
    for (int i = 0; i < 300; ++i)
        words += "once ";
    const std::string rest = R"({"role": "user", "content": "mid"}, {"role": "user", "content": "end"}])";
    const std::string body = R"({"truncation": "auto", "max_output_tokens": 8, "input": [)";
    const Json with_call = create_response(service,
                                           body + R"({"type": "function_call", "call_id": "a", "name": "f",
        "arguments": "{\"x\": \")" + words + R"(\"}"}, {"role": "user", "content": "mid"},
        {"type": "function_call_output", "call_id": "a", "output": "seen"}, {"role": "user", "content": "end"}]})");
    const Json plain = create_response(service, body + rest + "}");
    CHECK(with_call["etna"]["dropped_items"] == 2);
    CHECK(with_call["usage"]["input_tokens"] == plain["usage"]["input_tokens"]);
}

TEST_CASE("items with equal ids in a conversation are all stored") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const std::string id = new_conversation(service);
    for (const char* const word : {"one", "two"}) {
        create_response(service, R"({"max_output_tokens": 60, "conversation": ")" + id +
                                     R"(", "input": [{"role": "user", "id": "m", "content": ")" + word +
                                     R"("}, {"role": "user", "id": "m", "content": "again"}]})");
    }
    const Json items =
        etna::parse_json(service.get("/v1/conversations/" + id + "/items?order=asc").body)["data"];
    std::vector<std::string> texts;
    for (const Json& item : items)
        texts.push_back(item["content"][0]["text"]);
    CHECK(texts == std::vector<std::string>{"one", "again", "a dog", "two", "again", "a dog"});
    CHECK(error_of(service.get("/v1/conversations/" + id + "/items?after=none"))["param"] == "after");
    CHECK(error_of(service.post("/v1/conversations/" + id, "{}"))["param"] == "metadata");
}

TEST_CASE("white space at the end of an output is returned") {
    FakeService service({.chat_template = marked_template, .says = "there was  \n"});
    const std::string text = "there was  \n";
    CHECK(create_response(service, response_body("a"))["output_text"] == text);
    std::string streamed;
    const auto events =
        events_of(service.post(responses_path, response_body("a", R"(, "stream": true)")).body);
    for (const Json& event : events) {
        if (event["type"] == "response.output_text.delta")
            streamed += event["delta"].get<std::string>();
        if (event["type"] == "response.output_text.done")
            CHECK(event["text"] == text);
    }
    CHECK(streamed == text);
}

// What the Responses API does where something fails, has no room, or means nothing.
#include "tests/server/fake_responses.hpp"

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

using namespace etna;
using namespace etna::test;
using namespace std::chrono_literals;

namespace {

constexpr const char* conversations = "/v1/conversations";

std::string new_conversation(FakeService& service) {
    return etna::parse_json(service.post(conversations, "{}").body)["id"];
}

Json items_of(FakeService& service, const std::string& conversation) {
    return etna::parse_json(
        service.get(std::string(conversations) + "/" + conversation + "/items").body)["data"];
}

/// A model whose device is lost in the middle of the first answer.
FakeService::Options failing() {
    return {.prepare =
                [](FakeOptions& fake, int load) {
                    if (load == 1)
                        fake.lost_at_step = 6;
                },
            .chat_template = turns};
}

const std::string long_answer = R"(, "ignore_eos": true, "max_output_tokens": 100)";

std::string path_of(const Json& response) {
    return std::string(responses) + "/" + response["id"].get<std::string>();
}

/// Asks again and again until it is so, or a while has passed.
bool becomes(const std::function<bool()>& is_so) {
    for (int i = 0; i < 1000; ++i) {
        if (is_so())
            return true;
        std::this_thread::sleep_for(5ms);
    }
    return false;
}

std::string ignored(const FakeAnswer& answer) {
    CAPTURE(answer.body);
    CHECK(answer.status == 200);
    const auto found = answer.headers.find("etna-ignored");
    return found == answer.headers.end() ? "" : found->second;
}

} // namespace

TEST_CASE("an answer that fails leaves nothing in its conversation") {
    for (const char* const more : {"", R"(, "stream": true)", R"(, "store": false)"}) {
        CAPTURE(more);
        FakeService service(failing());
        const std::string conversation = new_conversation(service);
        const std::string body =
            R"({"input": "buy it", "conversation": ")" + conversation + "\"" + long_answer + more + "}";
        const FakeAnswer failed = service.post(responses, body);
        CHECK(failed.body.find("lost") != std::string::npos);
        CHECK(items_of(service, conversation).empty());
        made(service,
             R"({"input": "buy it", "max_output_tokens": 4, "conversation": ")" + conversation + "\"}");
        CHECK(items_of(service, conversation).size() == 2); // the question once
    }
}

TEST_CASE("a cancelled answer leaves nothing in its conversation") {
    FakeService service(
        {.prepare = [](FakeOptions& fake, int) { fake.step_delay = 10ms; }, .chat_template = turns});
    const std::string conversation = new_conversation(service);
    const Json begun = made(service, R"({"input": "x", "background": true, "conversation": ")" +
                                         conversation + "\"" + long_answer + "}");
    CHECK(becomes(
        [&] { return etna::parse_json(service.get(path_of(begun)).body)["status"] == "in_progress"; }));
    CHECK(etna::parse_json(service.post(path_of(begun) + "/cancel", "").body)["status"] == "cancelled");
    CHECK(items_of(service, conversation).empty());
}

TEST_CASE("a response waits as queued until something of it is made") {
    FakeService service({.prepare =
                             [](FakeOptions& fake, int) {
                                 fake.limits.sequences_max = 1;
                                 fake.step_delay = 5ms;
                             },
                         .chat_template = turns});
    const std::string body = R"({"input": "x", "background": true)" + long_answer + "}";
    const Json first = made(service, body);
    const Json second = made(service, body);
    CHECK(becomes(
        [&] { return etna::parse_json(service.get(path_of(first)).body)["status"] == "in_progress"; }));
    CHECK(etna::parse_json(service.get(path_of(second)).body)["status"] == "queued");
    // Its items are there meanwhile.
    CHECK(etna::parse_json(service.get(path_of(second) + "/input_items").body)["data"].size() == 1);
    CHECK(etna::parse_json(service.post(path_of(first) + "/cancel", "").body)["status"] == "cancelled");
    CHECK(becomes(
        [&] { return etna::parse_json(service.get(path_of(second)).body)["status"] == "in_progress"; }));
    CHECK(etna::parse_json(service.post(path_of(second) + "/cancel", "").body)["status"] == "cancelled");
}

TEST_CASE("what is being made is not pushed out by what is done") {
    server::storage::StoreOptions two = {.responses = {.entries_max = 2}};
    FakeService service({.prepare = [](FakeOptions& fake, int) { fake.step_delay = 3ms; },
                         .chat_template = turns,
                         .store = two});
    const Json begun = made(service, R"({"input": "x", "background": true)" + long_answer + "}");
    for (int i = 0; i < 4; ++i)
        made(service, R"({"input": "x", "max_output_tokens": 2})");
    CHECK(service.service().persistence->store->response("", begun["id"]).value().has_value());
    CHECK(becomes(
        [&] { return etna::parse_json(service.get(path_of(begun)).body)["status"] == "incomplete"; }));
}

TEST_CASE("pages of items end, whatever ids a client gives") {
    FakeService service({.chat_template = turns, .says = "a dog"});
    const Json response = made(service, R"({"max_output_tokens": 8, "input": [
        {"id": "m", "role": "user", "content": "a"}, {"id": "m", "role": "user", "content": "b"},
        {"id": "", "role": "user", "content": "c"}, {"id": "", "role": "user", "content": "d"}]})");
    std::string seen;
    std::string after;
    for (int page = 0; page < 10; ++page) {
        const Json list =
            etna::parse_json(service.get(path_of(response) + "/input_items?limit=1&order=asc" + after).body);
        REQUIRE(list["data"].size() == 1);
        seen += list["data"][0]["content"][0]["text"].get<std::string>();
        CHECK(list["last_id"] != "");
        after = "&after=" + list["last_id"].get<std::string>();
        if (list["has_more"] == false)
            break;
    }
    CHECK(seen == "abcd");
}

TEST_CASE("no more is left out than has to be") {
    FakeService service({.chat_template = turns, .says = "a dog"}); // 512 tokens of context
    const auto body = [](int count, const std::string& more) {
        std::string items;
        for (int i = 0; i < count; ++i)
            items += R"({"role": "user", "content": "Once upon a time there was a dog."},)";
        return R"({"input": [)" + items + R"({"role": "user", "content": "End."}])" + more + "}";
    };
    const std::size_t one = input_tokens(service, body(2, "")) - input_tokens(service, body(1, ""));
    for (const std::size_t answer : {8U, 100U}) {
        const std::string wish = R"(, "truncation": "auto", "max_output_tokens": )" + std::to_string(answer);
        const Json response = made(service, body(60, wish));
        const auto taken = response["usage"]["input_tokens"].get<std::size_t>();
        CHECK(taken + answer <= 512);
        CHECK(taken + one + answer > 512); // one item more would have had no room beside the answer
        CHECK(input_tokens(service, body(60, wish)) == taken);
    }
    CHECK(input_tokens(service, body(60, "")) > 512);
}

TEST_CASE("a result at the end keeps its call, and is too long where that is") {
    FakeService service({.chat_template = turns, .says = "a dog"});
    std::string words;
    for (int i = 0; i < 300; ++i)
        words += "once ";
    const std::string past = R"({"input": [{"role": "user", "content": "hi"},)";
    const std::string call = R"({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},)";
    const auto asking = [&](const std::string& output) {
        return past + call + R"({"type": "function_call_output", "call_id": "a", "output": ")" + output +
               R"("}], "truncation": "auto", "max_output_tokens": 8})";
    };
    CHECK(refused(service.post(responses, asking(words)))["code"] == "context_length_exceeded");
    const std::string long_past = R"({"input": [{"role": "user", "content": ")" + words + R"("},)";
    const Json fits =
        made(service, long_past + call +
                          R"({"type": "function_call_output", "call_id": "a", "output": "seen"}],
                           "truncation": "auto", "max_output_tokens": 8})");
    CHECK(fits["etna"]["dropped_items"] == 1);
}

TEST_CASE("results belong to calls of their kind, in conversations as well") {
    FakeService service({.chat_template = turns, .says = "a dog"});
    const std::string call = R"({"type": "custom_tool_call", "call_id": "a", "name": "f", "input": "x"})";
    const std::string wrong = R"({"type": "function_call_output", "call_id": "a", "output": "x"})";
    const std::string right = R"({"type": "custom_tool_call_output", "call_id": "a", "output": "x"})";
    CHECK(refused(service.post(responses, R"({"input": [)" + call + "," + wrong + "]}"))["code"] ==
          "tool_call_not_found");
    made(service, R"({"max_output_tokens": 2, "input": [)" + call + "," + right + "]}");
    CHECK(refused(service.post(conversations, R"({"items": [)" + right + "]}"))["param"] == "items");
    const std::string path = std::string(conversations) + "/" + new_conversation(service) + "/items";
    CHECK(refused(service.post(path, R"({"items": [)" + right + "]}"))["code"] == "tool_call_not_found");
    CHECK(service.post(path, R"({"items": [)" + call + "]}").status == 200);
    CHECK(refused(service.post(path, R"({"items": [)" + wrong + "]}"))["code"] == "tool_call_not_found");
    CHECK(service.post(path, R"({"items": [)" + right + "]}").status == 200);
}

TEST_CASE("what a conversation has takes part, sealed or deleted") {
    FakeService service({.chat_template = turns, .says = "a dog"});
    const std::string call = R"({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"})";
    const std::string result = R"({"type": "function_call_output", "call_id": "a", "output": "x"})";
    const Json sealed = etna::parse_json(service
                                             .post("/v1/responses/compact", R"({"model": "stories", "input": [
        {"role": "user", "content": "x"}, )" + call + "]}")
                                             .body);
    const std::string talk =
        etna::parse_json(service.post(conversations, Json({{"items", sealed["output"]}}).dump()).body)["id"];
    const std::string path = std::string(conversations) + "/" + talk;
    CHECK(service.post(path + "/items", R"({"items": [)" + result + "]}").status == 200);
    CHECK(service.post(std::string(conversations) + "/nowhere/items", R"({"items": [)" + result + "]}")
              .status == 404);
    // A call that is deleted takes its result with it.
    const std::string other = new_conversation(service);
    const std::string place = std::string(conversations) + "/" + other;
    const Json added =
        etna::parse_json(service.post(place + "/items", R"({"items": [)" + call + "," + result + "]}").body);
    CHECK(service.remove(place + "/items/" + added["data"][0]["id"].get<std::string>()).status == 200);
    made(service, R"({"input": "x", "max_output_tokens": 4, "conversation": ")" + other + "\"}");
    // Items that are there already are named, and not there twice.
    const Json first = items_of(service, other)[0];
    made(service, R"({"store": false, "max_output_tokens": 4, "conversation": ")" + other +
                      R"(", "input": [{"type": "item_reference", "id": ")" + first["id"].get<std::string>() +
                      R"("}, {"role": "user", "content": "x"}]})");
    CHECK(items_of(service, other).size() == 5);
    const Json named = etna::parse_json(
        service.post(place + "/items", R"({"items": [{"role": "user", "content": "x", "id": ""}]})").body);
    CHECK(named["first_id"] != "");
}

TEST_CASE("members without effect are told, wherever they stand") {
    FakeService service({.chat_template = turns, .says = "a dog"});
    CHECK(ignored(service.post(responses, R"({"input": "x", "max_output_tokens": 2, "text": {"bogus": 1,
        "format": {"type": "text", "odd": 1}}, "reasoning": {"more": 1}, "messages": [], "unheard": 1,
        "tools": [{"type": "function", "name": "f", "parameters": {}, "new": 1}]})")) ==
          "unheard, messages, tools[0].new, text.bogus, text.format.odd, reasoning.more");
    CHECK(ignored(service.post(responses, R"({"input": "x", "max_output_tokens": 2, "stream": true,
        "stream_options": {"include_obfuscation": true, "foo": 1}})")) ==
          "stream_options.foo, stream_options.include_obfuscation");
    CHECK(ignored(service.post("/v1/responses/input_tokens", R"({"input": "x", "unheard": 1})")) ==
          "unheard");
    CHECK(ignored(service.post("/v1/responses/compact",
                               R"({"model": "stories", "input": "x", "unheard": 1})")) == "unheard");
    CHECK(ignored(service.post(conversations, R"({"unheard": 1})")) == "unheard");
    const std::string path = std::string(conversations) + "/" + new_conversation(service);
    CHECK(ignored(service.post(path, R"({"metadata": {}, "items": []})")) == "items");
    CHECK(ignored(service.post(path + "/items", R"({"metadata": {}, "items": []})")) == "metadata");
    const FakeAnswer strict = service.ask({.method = "POST",
                                           .path = path,
                                           .headers = {{"host", "127.0.0.1"}, {"etna-strict", "1"}},
                                           .body = R"({"metadata": {}, "items": []})"});
    CHECK(refused(strict)["code"] == "unknown_parameter");
}

TEST_CASE("what is asked of caches and of reasoning is checked and told again") {
    FakeService service({.chat_template = turns, .says = "a dog"});
    const Json response = made(service, R"({"input": "x", "max_output_tokens": 2,
        "prompt_cache_retention": "24h", "prompt_cache_options": {"mode": "explicit"},
        "reasoning": {"context": "current_turn", "mode": "standard"}})");
    CHECK(response["prompt_cache_retention"] == "24h");
    CHECK(response["prompt_cache_options"] == Json({{"ttl", "30m"}, {"mode", "explicit"}}));
    CHECK(
        (response["reasoning"]["context"] == "current_turn" && response["reasoning"]["mode"] == "standard"));
    for (const char* const wrong :
         {R"("prompt_cache_retention": "x")", R"("prompt_cache_options": {"ttl": "x"})",
          R"("reasoning": {"context": "x"})",
          R"("stream": true, "stream_options": {"include_obfuscation": "x"})",
          R"("tools": [{"type": "function", "name": "f"}, {"type": "custom", "name": "f"}])"}) {
        CAPTURE(wrong);
        refused(service.post(responses, R"({"input": "x", )" + std::string(wrong) + "}"));
    }
}

TEST_CASE("metadata may be taken away by null") {
    FakeService service({.chat_template = turns, .says = "a dog"});
    const std::string path =
        std::string(conversations) + "/" +
        etna::parse_json(service.post(conversations, R"({"metadata": {"a": "b"}})").body)["id"]
            .get<std::string>();
    CHECK(etna::parse_json(service.post(path, R"({"metadata": null})").body)["metadata"] == Json::object());
    CHECK(refused(service.post(path, "{}"))["code"] == "missing_required_parameter");
    const Json chat = etna::parse_json(service
                                           .post("/v1/chat/completions", R"({"store": true, "max_tokens": 2,
        "metadata": {"a": "b"}, "messages": [{"role": "user", "content": "x"}]})")
                                           .body);
    const std::string place = "/v1/chat/completions/" + chat["id"].get<std::string>();
    CHECK(etna::parse_json(service.post(place, R"({"metadata": null})").body)["metadata"] == Json::object());
}

TEST_CASE("tokens are counted of whatever there is") {
    FakeService service({.chat_template = turns, .says = "a dog"});
    const std::size_t around = input_tokens(service, "{}");
    CHECK(around == input_tokens(service, R"({"input": ""})"));
    CHECK(input_tokens(service, R"({"instructions": "be nice"})") > around / 2);
    CHECK(ignored(service.post("/v1/responses/input_tokens", R"({"unheard": 1})")) == "unheard");
    CHECK(refused(service.post("/v1/responses/input_tokens", R"({"temperature": 99})"))["param"] ==
          "temperature");
}

TEST_CASE("a dialect that nobody knows is refused, and paths end where ids do") {
    FakeService service({.chat_template = turns, .says = "a dog"});
    const FakeAnswer odd = service.ask({.method = "POST",
                                        .path = responses,
                                        .headers = {{"host", "127.0.0.1"}, {"etna-dialect", "klingon"}},
                                        .body = asked("x")});
    CHECK(refused(odd)["param"] == "etna-dialect");
    CHECK(service.remove("/v1/responses/x/cancel").status == 405);
    CHECK(service.get("/v1/models/some/where").status == 404);
}

TEST_CASE("log-probabilities are those of the text that is told") {
    FakeService service({.chat_template = turns, .says = "a dog and a cat"});
    const std::string wish = R"({"input": "x", "max_output_tokens": 60, "temperature": 0,
        "include": ["message.output_text.logprobs"])";
    const auto joined = [](const Json& logprobs) {
        std::string text;
        for (const Json& one : logprobs)
            text += one["token"].get<std::string>();
        return text;
    };
    const Json whole = made(service, wish + "}")["output"][0]["content"][0];
    CHECK(joined(whole["logprobs"]).find("a dog and a cat") != std::string::npos);
    const std::string stop = R"(, "stop": [" and"])";
    const Json cut = made(service, wish + stop + "}")["output"][0]["content"][0];
    CHECK(cut["text"] == "a dog");
    CHECK(joined(cut["logprobs"]).find("and") == std::string::npos);
    CHECK(joined(cut["logprobs"]).find("a dog") != std::string::npos);
    Json told = Json::array();
    for (const Json& event : events_of(service.post(responses, wish + stop + R"(, "stream": true})").body)) {
        for (const Json& one :
             event["type"] == "response.output_text.delta" ? event["logprobs"] : Json::array())
            told.push_back(one);
    }
    CHECK(told == cut["logprobs"]);
}

TEST_CASE("turns are left out as a whole where a template wants them in their order") {
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
    const Json response = made(service, body + "}");
    CHECK(response["etna"]["dropped_items"].get<int>() % 2 == 0);
    CHECK(response["usage"]["input_tokens"] > 440); // of 512: nearly as much as there is room for
}

TEST_CASE("a background answer with nothing in it goes through all its states") {
    FakeService service({.chat_template = turns, .says = "a dog"});
    const auto events = events_of(service
                                      .post(responses, R"({"input": "x", "background": true, "stream": true,
        "max_output_tokens": 20, "stop": ["a"]})")
                                      .body);
    REQUIRE(events.size() >= 4);
    CHECK(events[0]["type"] == "response.created");
    CHECK(events[1]["type"] == "response.queued");
    CHECK(events[2]["type"] == "response.in_progress");
    CHECK(events.back()["type"] == "response.completed");
}

TEST_CASE("what a schema asks for and cannot be enforced can be left out as in chats") {
    FakeService service({.chat_template = turns});
    const std::string format =
        R"(, "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "array",
        "items": {"const": {}}, "uniqueItems": true}}})";
    const Json error = refused(service.post(responses, asked("Go", format)));
    CHECK(error["param"] == "text.format.schema");
    CHECK(error["message"].get<std::string>().ends_with("(`etna.schema`: \"lenient\")"));
    CHECK(service.post(responses, asked("Go", format + R"(, "etna": {"schema": "lenient"})")).status == 200);
    const Json wrong = refused(service.post(responses, asked("Go", format + R"(, "etna": {"schema": "x"})")));
    CHECK(wrong["param"] == "etna.schema");
}

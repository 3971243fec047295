// /tokenize, /detokenize and /apply-template with long answers, which are generated while they are sent, and
// whose memory is counted.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;
using server::MemoryBudget;
using server::MemoryReservation;

namespace {

constexpr const char* line_template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}";

server::HttpRequest json_request(const std::string& path, const Json& body) {
    return post_request(path, etna::dump_json(body));
}

/// A text of about that many bytes, with multi-byte characters.
std::string long_text(std::size_t bytes) {
    std::string text;
    for (int i = 0; text.size() < bytes; ++i)
        text += "there was a dog \xc3\xa4\xe2\x82\xac\"\\ number " + std::to_string(i) + "\n";
    return text;
}

Json chat_of_messages(int messages) {
    Json body = {{"messages", Json::array()}};
    for (int i = 0; i < messages; ++i)
        body["messages"].push_back({{"role", "user"}, {"content", "message \xc3\xa4 " + std::to_string(i)}});
    return body;
}

/// Counts the memory of a request against a limit.
std::shared_ptr<MemoryBudget> count_memory(server::HttpRequest& request, std::size_t bytes_max) {
    const auto total = std::make_shared<MemoryBudget>(bytes_max);
    request.memory = std::make_shared<MemoryReservation>(total);
    return total;
}

} // namespace

TEST_CASE("a long text survives /tokenize and /detokenize, streamed byte for byte") {
    FakeService service({});
    const std::string text = long_text(300'000);
    server::HttpRequest request = json_request("/tokenize", {{"content", text}, {"with_pieces", true}});
    server::HttpReply reply = service.router().answer(request);
    CHECK(reply.stream != nullptr);
    CHECK(reply.body.empty());
    const Json reply_json = etna::parse_json(service.ask(request).body);
    CHECK(reply_json["count"] == reply_json["tokens"].size());
    CHECK(reply_json["max_model_len"] > 0);
    Json ids = Json::array();
    for (const Json& token : reply_json["tokens"])
        ids.push_back(token["id"]);
    const Json plain = etna::parse_json(service.post("/tokenize", etna::dump_json({{"content", text}})).body);
    CHECK(plain["tokens"] == ids);

    const FakeAnswer back = service.post("/detokenize", etna::dump_json({{"tokens", ids}}));
    const Json texts = etna::parse_json(back.body);
    CHECK(texts["content"] == text);
    CHECK(texts["prompt"] == text);
    CHECK(service.post("/tokenize", R"({"content": ""})").body.starts_with(R"({"tokens":[],"count":0,)"));
}

TEST_CASE("a long templated conversation is streamed unchanged") {
    FakeService service({.chat_template = line_template});
    const Json body = chat_of_messages(20'000);
    std::string expected;
    for (const Json& message : body["messages"])
        expected += "user: " + message["content"].get<std::string>() + "\n";
    server::HttpRequest request = json_request("/apply-template", body);
    CHECK(service.router().answer(request).stream != nullptr);
    CHECK(etna::parse_json(service.ask(request).body)["prompt"] == expected);
}

TEST_CASE("a chat is parsed once, and never written as JSON") {
    constexpr const char* tools_template =
        "{% for t in tools or [] %}<{{ t.function.name }} {{ t.function.parameters | tojson }}>{% endfor %}"
        "{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] %}"
        "{{ c.function.arguments | tojson }}{% endfor %}\n{% endfor %}{# <tool_call> #}";
    FakeService service({.chat_template = tools_template});
    const std::string chat = R"({"messages": [{"role": "user", "content": "Roll"})";
    const std::string calls = R"(, {"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type":
        "function", "function": {"name": "roll", "arguments": "{\"sides\": 6}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "4"})";
    const std::string tools = R"(], "tools": [{"type": "function", "function": {"name": "roll", "parameters":
        {"type": "object", "properties": {"sides": {"type": "integer"}}}}}], "temperature": 0, "max_tokens": 4})";
    service.post("/tokenize", chat + tools); // loads the model
    const auto counted = [&](const char* path, const std::string& body) {
        const JsonCounts before = json_counts();
        REQUIRE(service.post(path, body).status == 200);
        const JsonCounts after = json_counts();
        return std::array{after.parsed - before.parsed, after.scanned - before.scanned,
                          after.dumped - before.dumped};
    };
    // The body's limits are checked by a scan, and the arguments of a call are scanned into a value.
    CHECK(counted("/tokenize", chat + tools) == std::array<uint64_t, 3>{1, 1, 0});
    CHECK(counted("/tokenize", chat + calls + tools) == std::array<uint64_t, 3>{1, 2, 0});
    const auto answered = counted(chats_path, chat + calls + tools); // writes the answer
    CHECK((answered[0] == 1 && answered[1] == 2));
}

TEST_CASE("the name of a control token in a message is text, unless parse_special asks for the token") {
    FakeService service(
        {.chat_template = "{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}"});
    constexpr TokenId eos = 2;
    const auto ends = [&](const std::string& messages, const std::string& more = "") {
        const Json body = post_json(service, "/tokenize", R"({"messages": [)" + messages + "]" + more + "}");
        const auto tokens = body["tokens"].get<std::vector<TokenId>>();
        return std::count(tokens.begin(), tokens.end(), eos);
    };
    const std::string whole = R"({"role": "user", "content": "a</s>b"})";
    CHECK(ends(whole) == 1);
    CHECK(ends(whole, R"(, "parse_special": true)") == 2);
    CHECK(ends(R"({"role": "user", "content": "a</s"}, {"role": "user", "content": ">b"})") == 2);
    const std::string ids =
        etna::dump_json(post_json(service, "/tokenize", R"({"messages": [)" + whole + "]}")["tokens"]);
    const std::string back = post_json(service, "/detokenize", R"({"tokens": )" + ids + "}")["content"];
    CHECK(back.ends_with("a</s>b</s>"));
    const Json prompt = post_json(service, "/apply-template", R"({"messages": [)" + whole + "]}");
    CHECK(prompt["prompt"] == "a</s>b</s>");

    const auto input_tokens = [&](const std::string& text) {
        return post_json(service, "/v1/responses/input_tokens",
                         R"({"input": ")" + text + R"("})")["input_tokens"]
            .get<int>();
    };
    CHECK(input_tokens("a</s>b") > input_tokens("ab") + 2);
}

TEST_CASE("tokens and messages count as memory of their request until they are sent") {
    FakeService service({.chat_template = line_template});
    for (server::HttpRequest request :
         {json_request("/tokenize", {{"content", long_text(1'000'000)}, {"with_pieces", true}}),
          json_request("/apply-template", chat_of_messages(20'000)),
          json_request("/v1/responses/input_tokens", {{"input", long_text(1'000'000)}})}) {
        CAPTURE(request.path);
        const auto all = count_memory(request, SIZE_MAX);
        server::HttpReply reply = service.router().answer(request);
        CHECK(reply.status == 200);
        const std::size_t taken = all->held() + all->take_freed();
        CHECK(taken > request.body.size() * 3);
        request = {.method = "POST", .path = request.path, .headers = request.headers, .body = request.body};
        if (reply.stream) {
            FakeService::drain(reply);
            CHECK(all->held() < request.body.size() * 4);
            reply = {};
        }
        CHECK(all->held() == 0);

        const auto shared = count_memory(request, taken);
        MemoryReservation others(shared);
        REQUIRE(others.grow_by(taken - 1));
        const FakeAnswer refused = service.ask(request);
        CHECK(refused.status == 503);
        CHECK(refused.headers.contains("retry-after"));
        request.memory.reset();
        CHECK(shared->held() == taken - 1);

        const auto little = count_memory(request, taken / 2); // never enough, so that waiting is pointless
        const FakeAnswer too_large = service.ask(request);
        CHECK(too_large.status == 413);
        CHECK(etna::parse_json(too_large.body)["error"]["code"] == "request_too_large");
        CHECK_FALSE(too_large.headers.contains("retry-after"));
        request.memory.reset();
        CHECK(little->held() == 0);
    }
    server::HttpRequest small = json_request("/tokenize", {{"content", "Once"}});
    const auto none = count_memory(small, 0);
    CHECK(service.ask(small).status == 200); // small requests are not counted
}

// /tokenize, /detokenize and /apply-template with much to tell: the answers are made while they are sent, and
// what is held meanwhile is counted.
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <memory>
#include <string>

using namespace etna;
using server::Json;
using server::MemoryBudget;
using server::MemoryReservation;
using test::FakeAnswer;
using test::FakeService;

namespace {

constexpr const char* one_a_line = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}";

server::HttpRequest post(const std::string& path, const Json& body) {
    return {
        .method = "POST", .path = path, .headers = {{"host", "127.0.0.1"}}, .body = server::text_of(body)};
}

/// A text of about so many bytes, of words and of what is no single byte.
std::string long_text(std::size_t bytes) {
    std::string text;
    for (int i = 0; text.size() < bytes; ++i)
        text += "there was a dog \xc3\xa4\xe2\x82\xac\"\\ number " + std::to_string(i) + "\n";
    return text;
}

Json chat_of(int messages) {
    Json body = {{"messages", Json::array()}};
    for (int i = 0; i < messages; ++i)
        body["messages"].push_back({{"role", "user"}, {"content", "message \xc3\xa4 " + std::to_string(i)}});
    return body;
}

/// Counts what a request holds of so much.
std::shared_ptr<MemoryBudget> count(server::HttpRequest& request, std::size_t bytes_max) {
    const auto total = std::make_shared<MemoryBudget>(bytes_max);
    request.memory = std::make_shared<MemoryReservation>(total);
    return total;
}

} // namespace

TEST_CASE("a long text comes as tokens and back as text, in pieces, and byte for byte") {
    FakeService service({});
    const std::string text = long_text(300'000);
    server::HttpRequest wanted = post("/tokenize", {{"content", text}, {"with_pieces", true}});
    server::HttpReply reply = service.router().answer(wanted);
    CHECK(reply.stream != nullptr);
    CHECK(reply.body.empty());
    const Json told = etna::parse_json(service.ask(wanted).body);
    CHECK(told["count"] == told["tokens"].size());
    CHECK(told["max_model_len"] > 0);
    Json ids = Json::array();
    for (const Json& token : told["tokens"])
        ids.push_back(token["id"]);
    const Json plain = etna::parse_json(service.post("/tokenize", server::text_of({{"content", text}})).body);
    CHECK(plain["tokens"] == ids);

    const FakeAnswer back = service.post("/detokenize", server::text_of({{"tokens", ids}}));
    const Json texts = etna::parse_json(back.body);
    CHECK(texts["content"] == text);
    CHECK(texts["prompt"] == text);
    CHECK(service.post("/tokenize", R"({"content": ""})").body.starts_with(R"({"tokens":[],"count":0,)"));
}

TEST_CASE("a long conversation comes as its template writes it, in pieces") {
    FakeService service({.chat_template = one_a_line});
    const Json body = chat_of(20'000);
    std::string wanted;
    for (const Json& message : body["messages"])
        wanted += "user: " + message["content"].get<std::string>() + "\n";
    server::HttpRequest request = post("/apply-template", body);
    CHECK(service.router().answer(request).stream != nullptr);
    CHECK(etna::parse_json(service.ask(request).body)["prompt"] == wanted);
}

TEST_CASE(
    "tokens and messages count as memory of their request, and what is left of them while they are sent") {
    FakeService service({.chat_template = one_a_line});
    for (server::HttpRequest request :
         {post("/tokenize", {{"content", long_text(1'000'000)}, {"with_pieces", true}}),
          post("/apply-template", chat_of(20'000)),
          post("/v1/responses/input_tokens", {{"input", long_text(1'000'000)}})}) {
        CAPTURE(request.path);
        const auto all = count(request, SIZE_MAX);
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

        const auto shared = count(request, taken);
        MemoryReservation others(shared);
        REQUIRE(others.grow_by(taken - 1));
        const FakeAnswer refused = service.ask(request);
        CHECK(refused.status == 503);
        CHECK(refused.headers.contains("retry-after"));
        request.memory.reset();
        CHECK(shared->held() == taken - 1);

        const auto little = count(request, taken / 2); // which is never enough, however long one waits
        const FakeAnswer too_large = service.ask(request);
        CHECK(too_large.status == 413);
        CHECK(etna::parse_json(too_large.body)["error"]["code"] == "request_too_large");
        CHECK_FALSE(too_large.headers.contains("retry-after"));
        request.memory.reset();
        CHECK(little->held() == 0);
    }
    server::HttpRequest small = post("/tokenize", {{"content", "Once"}});
    const auto none = count(small, 0);
    CHECK(service.ask(small).status == 200); // whatever the others hold
}

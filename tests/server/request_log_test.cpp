// Request log lines of answers and refusals.
#include "core/base/json.hpp"
#include "server/base/json.hpp"
#include "server/observe/log_line.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"
#include "tests/support/log_recorder.hpp"

#include <string>

using namespace etna;
using namespace etna::test;
using server::LogFormat;

namespace {

/// The lines that a service logs. Background responses log on their own threads.
class Lines {
public:
    explicit Lines(FakeService& service) {
        service.service().options.log_format = LogFormat::json;
        service.service().log = lines_.sink();
    }

    Json last() { return etna::parse_json(lines_.all().back()); }

    /// The line of a background response, once it has ended; null if it does not end.
    Json of_background() {
        Json found;
        (void)test::eventually([&] {
            for (const std::string& line : lines_.all()) {
                if (const Json json = etna::parse_json(line); json.contains("message"))
                    found = json;
            }
            return !found.is_null();
        });
        return found;
    }

private:
    test::LineRecorder lines_;
};

FakeService::Options talker() {
    return {.chat_template = marked_template, .says = "a dog"};
}

constexpr const char* chats = "/v1/chat/completions";

std::string greeting_body(const std::string& more) {
    return R"({"messages": [{"role": "user", "content": "Hello"}])" + more + "}";
}

} // namespace

TEST_CASE("the log has the model and token counts of every answer, equal to its usage") {
    FakeService service(talker());
    Lines lines(service);
    const Json usage = etna::parse_json(service.post(chats, greeting_body("")).body)["usage"];
    const Json line = lines.last();
    CHECK(line["model"] == "stories");
    CHECK(line["prompt_tokens"] == usage["prompt_tokens"]);
    CHECK(line["completion_tokens"] == usage["completion_tokens"]);
    CHECK(usage["completion_tokens"] > 0);
    CHECK(!line.contains("error"));
    service.post(chats, greeting_body(R"(, "stream": true)"));
    CHECK(lines.last()["completion_tokens"] == usage["completion_tokens"]);
    service.post("/v1/completions", R"({"prompt": "Once", "max_tokens": 3})");
    CHECK(lines.last()["model"] == "stories");
    CHECK(lines.last()["completion_tokens"] == 3);
    for (const char* more : {"", R"(, "stream": true)"}) {
        service.post(responses_path, response_body("Hello", more));
        CAPTURE(more, etna::dump_json(lines.last()));
        CHECK(lines.last()["model"] == "stories");
        CHECK(lines.last()["completion_tokens"] == usage["completion_tokens"]);
    }
    service.post("/v1/responses/compact", R"({"model": "stories", "input": "Hello"})");
    CHECK(lines.last()["completion_tokens"] > 0);
    service.post("/tokenize", R"({"content": "Hello"})");
    CHECK(lines.last()["model"] == "stories");
}

TEST_CASE("the log has the priority of requests that set one") {
    FakeService service(talker());
    Lines lines(service);
    service.post(chats, greeting_body(R"(, "priority": -3)"));
    CHECK(lines.last()["priority"] == -3);
    service.post("/v1/completions", R"({"prompt": "Once", "max_tokens": 3, "priority": 7})");
    CHECK(lines.last()["priority"] == 7);
    service.post(responses_path, response_body("Hello", R"(, "priority": 2)"));
    CHECK(lines.last()["priority"] == 2);
    service.post("/v1/embeddings", R"({"model": "stories", "input": "Once", "priority": 5})");
    CHECK(lines.last()["priority"] == 5);
    service.post(chats, greeting_body(""));
    CHECK(!lines.last().contains("priority"));
}

TEST_CASE("the log has the token counts of a background response when it ends") {
    FakeService service(talker());
    Lines lines(service);
    const Json made = etna::parse_json(
        service.post(responses_path, response_body("Hello", R"(, "background": true)")).body);
    REQUIRE(made["status"] == "queued");
    const Json line = lines.of_background();
    REQUIRE(line.is_object());
    CHECK(line["message"] == "background response ended");
    CHECK(line["outcome"] == "ok");
    CHECK(line["model"] == "stories");
    CHECK(line["prompt_tokens"] > 0);
    CHECK(line["completion_tokens"] > 0);
}

TEST_CASE("the log says why a request got a 4xx or 5xx: the error's code, else its type, and the member") {
    FakeService service(talker());
    Lines lines(service);
    const auto check = [&](int status, const std::string& error, const Json& param) {
        const Json line = lines.last();
        CAPTURE(etna::dump_json(line));
        CHECK(line["status"] == status);
        CHECK(line["error"] == error);
        CHECK(line.value("param", Json()) == param);
    };
    service.post(chats, R"({"model": "gpt-4o", "messages": []})");
    check(404, "model_not_found", "model");
    CHECK(!lines.last().contains("model"));
    service.post(chats, "{bad");
    check(400, "invalid_json", {});
    service.post(chats, greeting_body(R"(, "temperature": 3)"));
    check(400, "decimal_above_max_value", "temperature");
    CHECK(lines.last()["model"] == "stories");
    CHECK(!lines.last().contains("prompt_tokens"));
    service.post(responses_path, response_body("Hello", R"(, "temperature": 3)"));
    check(400, "decimal_above_max_value", "temperature");
    service.post(responses_path, R"({"input": 3})");
    check(400, "invalid_type", "input");
    service.get("/v1/responses/resp_none");
    CHECK(lines.last()["status"] == 404);
    CHECK(lines.last().contains("error"));
    FakeService broken({.load_error = Error{ErrorKind::device_lost, "the device is lost"}});
    Lines of_broken(broken);
    broken.post("/v1/completions", R"({"prompt": "a"})");
    CHECK(of_broken.last()["error"] == "device_lost");
    CHECK(of_broken.last()["model"] == "stories");
}

TEST_CASE("the log says why a stream failed after its head") {
    FakeService service(talker());
    Lines lines(service);
    server::HttpReply reply = service.router().answer({.method = "POST",
                                                       .path = chats,
                                                       .headers = {{"host", "127.0.0.1"}},
                                                       .body = greeting_body(R"(, "stream": true)")});
    REQUIRE(reply.stream);
    service.service().is_aborting = true;
    CHECK(FakeService::drain(reply).find("error") != std::string::npos);
    CHECK(lines.last()["status"] == 200);
    CHECK(lines.last()["outcome"] == "error");
    CHECK(lines.last()["error"] == "cancelled");
    CHECK(lines.last().contains("prompt_tokens"));
}

TEST_CASE("values in a text log line are quoted if ambiguous, and truncated") {
    server::RequestSummary request = {
        .method = "POST", .path = "/", .remote_address = "::1", .request_id = "id"};
    request.answer = {
        .error = "invalid_value", .param = "a b\n" + std::string(1000, 'x'), .model = "my model"};
    const std::string line = server::request_line(LogFormat::text, request);
    CHECK(line.find(R"( model="my model" error=invalid_value param="a b\nx)") != std::string::npos);
    CHECK(line.find('\n') == std::string::npos);
    CHECK(line.size() < 400);
}

TEST_CASE("a warning line has its time and level") {
    const std::string text = server::warning_line(LogFormat::text, "it is late");
    CHECK(text.size() == std::string("2026-01-01T00:00:00Z warning: it is late").size());
    CHECK(text.ends_with("Z warning: it is late"));
    const Json json = etna::parse_json(server::warning_line(LogFormat::json, "it is late"));
    CHECK(json["level"] == "warning");
    CHECK(json["message"] == "it is late");
    CHECK(json.contains("time"));
}

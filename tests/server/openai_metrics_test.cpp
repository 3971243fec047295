// What requests leave in the figures and the log.
#include "tests/server/echo.hpp"
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <vector>

using namespace etna;
using server::Json;
using test::FakeAnswer;
using test::FakeService;

namespace {

constexpr const char* path = "/v1/completions";

std::string body(const std::string& more) {
    return R"({"prompt": "Once", "max_tokens": 6, "temperature": 0, "ignore_eos": true)" + more + "}";
}

/// A figure by its name and labels; -1: there is none.
double figure(FakeService& service, const std::string& name) {
    const std::string text = service.get("/metrics").body;
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + name.size() + 2, nullptr);
}

double of_stories(FakeService& service, const std::string& name) {
    return figure(service, name + R"({model="stories"})");
}

} // namespace

TEST_CASE("every answer that began has a time to its first token, streamed or not") {
    FakeService service(
        {.prepare = [](test::FakeOptions& fake, int) { fake.step_delay = std::chrono::milliseconds(2); }});
    CHECK(service.post(path, body("")).status == 200);
    CHECK(of_stories(service, "etna_time_to_first_token_seconds_count") == 1);
    CHECK(service.post(path, body(R"(, "stream": true)")).status == 200);
    CHECK(of_stories(service, "etna_time_to_first_token_seconds_count") == 2);
    // Text that is held back to the end is no first token that is late.
    CHECK(service.post(path, body(R"(, "detokenize": false)")).status == 200);
    CHECK(of_stories(service, "etna_time_to_first_token_seconds_count") == 3);
    CHECK(of_stories(service, "etna_time_to_first_token_seconds_sum") >= 3 * 0.002);
    CHECK(service.get("/metrics").body.find("etna_time_to_first_token_seconds From a request's arrival") !=
          std::string::npos);
}

TEST_CASE("a client that left before the first token leaves no time to it") {
    FakeService service({});
    REQUIRE(service.post(path, body("")).status == 200);
    server::HttpRequest request = {
        .method = "POST", .path = path, .headers = {{"host", "127.0.0.1"}}, .body = body("")};
    int questions = 0;
    request.is_client_gone = [&] { return ++questions > 1; }; // stays until its request is queued
    service.ask(request);
    CHECK(of_stories(service, "etna_client_disconnects_total") == 1);
    CHECK(of_stories(service, "etna_time_to_first_token_seconds_count") == 1);
    CHECK(of_stories(service, "etna_prompt_seconds_count") == 1);
}

TEST_CASE("an answer whose client left has a time between its tokens, whatever it was told of them") {
    std::atomic<int> steps{0};
    FakeService service({.prepare = [&](test::FakeOptions& fake, int) {
        fake.step_delay = std::chrono::milliseconds(2);
        fake.on_submit = [&](const engine::Batch&) { ++steps; };
    }});
    const std::string name = "etna_inter_token_seconds_count";
    REQUIRE(service.post(path, body("")).status == 200);
    CHECK(of_stories(service, name) == 1);
    const std::string endless =
        R"({"prompt": "Once", "max_tokens": 400, "temperature": 0, "ignore_eos": true)";
    constexpr std::size_t some_chunks = 2000;
    service.post(path, endless + R"(, "stream": true})", some_chunks);
    CHECK(of_stories(service, "etna_client_disconnects_total") == 1);
    CHECK(of_stories(service, name) == 2);
    server::HttpRequest request = {
        .method = "POST", .path = path, .headers = {{"host", "127.0.0.1"}}, .body = endless + "}"};
    // It leaves before it has read anything, and after some steps.
    const int before = steps;
    int questions = 0;
    request.is_client_gone = [&] {
        constexpr int some_steps = 6;
        return ++questions > 1 && test::eventually([&] { return steps > before + some_steps; });
    };
    service.ask(request);
    CHECK(of_stories(service, "etna_client_disconnects_total") == 2);
    CHECK(of_stories(service, name) == 3);
}

TEST_CASE("prompts are counted once, however many answers they have") {
    FakeService service({});
    const Json usage = etna::parse_json(service.post(path, body(R"(, "n": 3)")).body)["usage"];
    CHECK(of_stories(service, "etna_prompt_tokens_total") == usage["prompt_tokens"].get<int>());
    CHECK(of_stories(service, "etna_completion_tokens_total") == 18);
    CHECK(of_stories(service, "etna_time_to_first_token_seconds_count") == 3);
}

TEST_CASE("answers that best_of leaves out are counted, too") {
    FakeService service({});
    const std::string asked =
        R"({"prompt": "Once", "max_tokens": 6, "ignore_eos": true, "best_of": 4, "n": 2})";
    const Json usage = etna::parse_json(service.post(path, asked).body)["usage"];
    CHECK(usage["completion_tokens"] == 4 * 6);
    CHECK(of_stories(service, "etna_completion_tokens_total") == 4 * 6);
}

TEST_CASE("drafts are counted as they came") {
    // Steps that take so long that their measured costs say that drafts pay.
    FakeService service(
        {.prepare = [](test::FakeOptions& fake, int) { fake.step_delay = std::chrono::milliseconds(5); },
         .says = "a dog and a cat and a dog and a cat and a dog and a cat"});
    const std::string asked = R"({"prompt": "Once", "max_tokens": 40, "temperature": 0, )";
    REQUIRE(service.post(path, asked + R"("num_assistant_tokens": 4})").status == 200);
    CHECK(of_stories(service, "etna_accepted_draft_tokens_total") == 0); // nothing drafts unless it is asked
    const Json usage = etna::parse_json(
        service.post(path, asked + R"("max_ngram_size": 3})").body)["usage"]["completion_tokens_details"];
    CHECK(usage["accepted_prediction_tokens"] > 0);
    CHECK(of_stories(service, "etna_accepted_draft_tokens_total") == usage["accepted_prediction_tokens"]);
    CHECK(of_stories(service, "etna_rejected_draft_tokens_total") == usage["rejected_prediction_tokens"]);
}

TEST_CASE("requests that are refused before their model is known are counted, without what clients wrote") {
    server::ServiceOptions options;
    options.access.api_keys = {"key"};
    FakeService service({.service = options});
    const auto ask = [&](const std::string& where, const std::string& text, const std::string& key) {
        return service
            .ask({.method = "POST",
                  .path = where,
                  .headers = {{"host", "127.0.0.1"}, {"authorization", "Bearer " + key}},
                  .body = text})
            .status;
    };
    const auto counted = [&](const std::string& endpoint, int status) {
        server::HttpRequest request = {
            .method = "GET", .path = "/metrics", .headers = {{"host", "127.0.0.1"}}};
        request.headers["authorization"] = "Bearer key";
        const std::string line = R"(etna_requests_total{model="",endpoint=")" + endpoint +
                                 R"(",stream="false",status=")" + std::to_string(status) + R"("} 1)";
        return service.ask(request).body.find(line) != std::string::npos;
    };
    CHECK(ask(path, "{bad", "key") == 400);
    CHECK(counted("completions", 400));
    CHECK(ask(path, R"({"model": "of-a-client", "prompt": "a"})", "key") == 404);
    CHECK(counted("completions", 404));
    CHECK(ask(path, body(""), "wrong") == 401);
    CHECK(counted("completions", 401));
    CHECK(ask("/v1/chat/completionz", body(""), "key") == 404);
    CHECK(counted("", 404));
    service.service().state = server::ServiceState::draining;
    CHECK(ask("/tokenize", body(""), "key") == 503);
    service.service().state = server::ServiceState::ready;
    CHECK(counted("/tokenize", 503));
    server::HttpRequest metrics = {.method = "GET", .path = "/metrics", .headers = {{"host", "127.0.0.1"}}};
    metrics.headers["authorization"] = "Bearer key";
    CHECK(service.ask(metrics).body.find("of-a-client") == std::string::npos);
}

TEST_CASE("labels are UTF-8 whatever a model is called") {
    CHECK(server::label_of_model("a\xff\"\n") == "model=\"a\xEF\xBF\xBD\\\"\\n\"");
}

TEST_CASE("a stream that fails after its head is counted and logged as what it failed with") {
    FakeService service({.prepare = [](test::FakeOptions& fake, int) { fake.lost_at_step = 4; }});
    std::vector<std::string> lines;
    service.service().log = [&](std::string_view line) { lines.emplace_back(line); };
    CHECK(service.post(path, body(R"(, "stream": true)")).status == 200); // its head had gone
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].find(" error ") != std::string::npos);
    CHECK(
        figure(service,
               R"(etna_requests_total{model="stories",endpoint="completions",stream="true",status="503"})") ==
        1);
}

// Metrics of requests.
#include "core/base/json.hpp"
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

constexpr const char* metered_endpoint = "/v1/completions";

std::string metered_body(const std::string& more) {
    return R"({"prompt": "Once", "max_tokens": 6, "temperature": 0, "ignore_eos": true)" + more + "}";
}

/// The metric with this name and labels; -1 if absent.
double metric(FakeService& service, const std::string& name) {
    const std::string text = service.get("/metrics").body;
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::strtod(text.c_str() + at + name.size() + 2, nullptr);
}

double of_stories(FakeService& service, const std::string& name) {
    return metric(service, name + R"({model="stories"})");
}

} // namespace

TEST_CASE("every answer with a token has a time to first token, streamed or not") {
    FakeService service(
        {.prepare = [](test::FakeOptions& fake, int) { fake.step_delay = std::chrono::milliseconds(2); }});
    CHECK(service.post(metered_endpoint, metered_body("")).status == 200);
    CHECK(of_stories(service, "etna_time_to_first_token_seconds_count") == 1);
    CHECK(service.post(metered_endpoint, metered_body(R"(, "stream": true)")).status == 200);
    CHECK(of_stories(service, "etna_time_to_first_token_seconds_count") == 2);
    // Text that is held back to the end does not delay the first token.
    CHECK(service.post(metered_endpoint, metered_body(R"(, "detokenize": false)")).status == 200);
    CHECK(of_stories(service, "etna_time_to_first_token_seconds_count") == 3);
    CHECK(of_stories(service, "etna_time_to_first_token_seconds_sum") >= 3 * 0.002);
    CHECK(service.get("/metrics").body.find("etna_time_to_first_token_seconds From a request's arrival") !=
          std::string::npos);
}

TEST_CASE("a client that disconnects before the first token adds no time to first token") {
    FakeService service({});
    REQUIRE(service.post(metered_endpoint, metered_body("")).status == 200);
    server::HttpRequest request = {.method = "POST",
                                   .path = metered_endpoint,
                                   .headers = {{"host", "127.0.0.1"}},
                                   .body = metered_body("")};
    int questions = 0;
    request.is_client_gone = [&] { return ++questions > 1; }; // connected until its request is queued
    service.ask(request);
    CHECK(of_stories(service, "etna_client_disconnects_total") == 1);
    CHECK(of_stories(service, "etna_time_to_first_token_seconds_count") == 1);
    CHECK(of_stories(service, "etna_prompt_seconds_count") == 1);
}

TEST_CASE("an answer has an inter-token time even if its client disconnected") {
    std::atomic<int> steps{0};
    FakeService service({.prepare = [&](test::FakeOptions& fake, int) {
        fake.step_delay = std::chrono::milliseconds(2);
        fake.on_submit = [&](const engine::Batch&) { ++steps; };
    }});
    const std::string name = "etna_inter_token_seconds_count";
    REQUIRE(service.post(metered_endpoint, metered_body("")).status == 200);
    CHECK(of_stories(service, name) == 1);
    const std::string endless =
        R"({"prompt": "Once", "max_tokens": 400, "temperature": 0, "ignore_eos": true)";
    constexpr std::size_t some_chunks = 2000;
    service.post(metered_endpoint, endless + R"(, "stream": true})", some_chunks);
    CHECK(of_stories(service, "etna_client_disconnects_total") == 1);
    CHECK(of_stories(service, name) == 2);
    server::HttpRequest request = {.method = "POST",
                                   .path = metered_endpoint,
                                   .headers = {{"host", "127.0.0.1"}},
                                   .body = endless + "}"};
    // It disconnects after some steps, before it has read anything.
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

TEST_CASE("prompt tokens are counted once, however many answers are generated") {
    FakeService service({});
    const Json usage =
        etna::parse_json(service.post(metered_endpoint, metered_body(R"(, "n": 3)")).body)["usage"];
    CHECK(of_stories(service, "etna_prompt_tokens_total") == usage["prompt_tokens"].get<int>());
    CHECK(of_stories(service, "etna_completion_tokens_total") == 18);
    CHECK(of_stories(service, "etna_time_to_first_token_seconds_count") == 3);
}

TEST_CASE("answers that best_of discards are counted, too") {
    FakeService service({});
    const std::string asked =
        R"({"prompt": "Once", "max_tokens": 6, "ignore_eos": true, "best_of": 4, "n": 2})";
    const Json usage = etna::parse_json(service.post(metered_endpoint, asked).body)["usage"];
    CHECK(usage["completion_tokens"] == 4 * 6);
    CHECK(of_stories(service, "etna_completion_tokens_total") == 4 * 6);
}

TEST_CASE("accepted and rejected draft tokens are counted") {
    // No token repeats before "Lily", so the first drafts are "and Tim": one is accepted and one rejected.
    // Later drafts depend on measured costs, and so on the load of the machine.
    FakeService service({.says = "Lily and Tim play. Lily and mom play."});
    const std::string asked = R"({"prompt": "Once", "max_tokens": 40, "temperature": 0, )";
    REQUIRE(service.post(metered_endpoint, asked + R"("num_assistant_tokens": 4})").status == 200);
    CHECK(of_stories(service, "etna_accepted_draft_tokens_total") == 0); // drafting is off by default
    const Json usage = etna::parse_json(service.post(metered_endpoint, asked + R"("max_ngram_size": 3})")
                                            .body)["usage"]["completion_tokens_details"];
    CHECK(usage["accepted_prediction_tokens"] > 0);
    CHECK(usage["rejected_prediction_tokens"] > 0);
    CHECK(of_stories(service, "etna_accepted_draft_tokens_total") == usage["accepted_prediction_tokens"]);
    CHECK(of_stories(service, "etna_rejected_draft_tokens_total") == usage["rejected_prediction_tokens"]);
}

TEST_CASE("requests refused before their model is known are counted, without labels from client input") {
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
    CHECK(ask(metered_endpoint, "{bad", "key") == 400);
    CHECK(counted("completions", 400));
    CHECK(ask(metered_endpoint, R"({"model": "of-a-client", "prompt": "a"})", "key") == 404);
    CHECK(counted("completions", 404));
    CHECK(ask(metered_endpoint, metered_body(""), "wrong") == 401);
    CHECK(counted("completions", 401));
    CHECK(ask("/v1/chat/completionz", metered_body(""), "key") == 404);
    CHECK(counted("", 404));
    service.service().state = server::ServiceState::draining;
    CHECK(ask("/tokenize", metered_body(""), "key") == 503);
    service.service().state = server::ServiceState::ready;
    CHECK(counted("/tokenize", 503));
    server::HttpRequest metrics = {.method = "GET", .path = "/metrics", .headers = {{"host", "127.0.0.1"}}};
    metrics.headers["authorization"] = "Bearer key";
    CHECK(service.ask(metrics).body.find("of-a-client") == std::string::npos);
}

TEST_CASE("labels are valid UTF-8 for any model name") {
    CHECK(server::label_of_model("a\xff\"\n") == "model=\"a\xEF\xBF\xBD\\\"\\n\"");
}

TEST_CASE("a stream that fails after its head is counted and logged with the error's status") {
    FakeService service({.prepare = [](test::FakeOptions& fake, int) { fake.lost_at_step = 4; }});
    std::vector<std::string> lines;
    service.service().log = [&](std::string_view line) { lines.emplace_back(line); };
    CHECK(service.post(metered_endpoint, metered_body(R"(, "stream": true)")).status ==
          200); // its head was sent
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].find(" error ") != std::string::npos);
    CHECK(
        metric(service,
               R"(etna_requests_total{model="stories",endpoint="completions",stream="true",status="503"})") ==
        1);
}

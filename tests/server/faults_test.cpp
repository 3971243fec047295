// What goes wrong under requests: devices that are lost, models that take long or never come, queues that are
// full.
#include "tests/server/echo.hpp"
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <thread>

using namespace etna;
using namespace std::chrono_literals;
using server::Json;
using test::FakeAnswer;
using test::FakeService;

namespace {

constexpr const char* path = "/v1/completions";

std::string body(bool is_streamed, const std::string& more = "") {
    return std::string(
               R"({"prompt": "Once", "max_tokens": 40, "temperature": 0, "ignore_eos": true, "stream": )") +
           (is_streamed ? "true" : "false") + more + "}";
}

bool has(const FakeAnswer& answer, std::string_view part) {
    return answer.body.find(part) != std::string::npos;
}

server::ServiceOptions impatient() {
    server::ServiceOptions options;
    options.keep_alive = 20ms;
    return options;
}

} // namespace

TEST_CASE("a device that is lost ends its requests with an error, and the next one gets a new model") {
    for (const bool is_streamed : {true, false}) {
        FakeService service({.prepare = [](test::FakeOptions& fake, int load) {
            if (load == 1)
                fake.lost_at_step = 9;
        }});
        const FakeAnswer broken = service.post(path, body(is_streamed));
        CHECK(has(broken, "device_lost"));
        if (is_streamed) {
            CHECK(broken.status == 200);
            CHECK(has(broken, "event: error\n"));
            CHECK(has(broken, R"("type":"server_error","param":null,"code":"device_lost")"));
            CHECK(broken.body.ends_with("\n\ndata: [DONE]\n\n"));
        } else {
            CHECK(broken.status == 503);
            CHECK(broken.headers.contains("retry-after"));
        }
        const FakeAnswer next = service.post(path, body(is_streamed));
        CHECK(next.status == 200);
        CHECK(has(next, is_streamed ? "data: [DONE]" : R"("completion_tokens":40)"));
        CHECK(service.loads() == 2);
        CHECK(has(service.get("/metrics"),
                  R"(etna_requests_in_flight{model="stories",endpoint="completions",)"));
    }
}

TEST_CASE("a stream whose model takes long to load is kept alive, and a failure is told in it") {
    FakeService slow({.service = impatient(), .loading_time = 200ms});
    const FakeAnswer late = slow.post(path, body(true));
    CHECK(late.status == 200);
    CHECK(late.body.starts_with(": keep-alive\n\n"));
    CHECK(has(late, "data: [DONE]"));

    const Error refusal = {ErrorKind::out_of_memory, "no memory is left for the model"};
    FakeService failing({.service = impatient(), .loading_time = 200ms, .load_error = refusal});
    const FakeAnswer told = failing.post(path, body(true));
    CHECK(told.status == 200);
    CHECK(has(told, "event: error\n"));
    CHECK(has(told, "no memory is left for the model"));
    CHECK(told.body.ends_with("\n\ndata: [DONE]\n\n"));
    CHECK(failing.post(path, body(false)).status == 503); // who wants no stream waits for the status
    const FakeAnswer wrong = slow.post(path, R"({"prompt": 1, "stream": true})");
    CHECK(wrong.status == 400); // the model is there by now
}

TEST_CASE("a full queue is told with the time to come back, and takes nothing of a request in part") {
    FakeService service({.queue_max = 1, .prepare = [](test::FakeOptions& fake, int) {
                             fake.limits.sequences_max = 1;
                             fake.step_delay = 2ms;
                         }});
    const FakeAnswer never = service.post(path, body(false, R"(, "n": 3)"));
    CHECK(never.status == 400); // coming back would not help
    CHECK(has(never, "at most 2"));
    FakeAnswer first;
    std::thread busy([&] { first = service.post(path, body(false, R"(, "n": 2)")); });
    while (!has(service.get("/metrics"), "etna_requests_running{model=\"stories\"} 1\n"))
        std::this_thread::sleep_for(1ms);
    const FakeAnswer refused = service.post(path, body(false));
    CHECK(refused.status == 429);
    CHECK(refused.headers.at("retry-after") == "1");
    CHECK(has(refused, "rate_limit_exceeded"));
    busy.join();
    CHECK(first.status == 200);
    CHECK(service.post(path, body(false)).status == 200);
}

TEST_CASE("pages that run out make requests wait, and none fails") {
    FakeService service({.prepare = [](test::FakeOptions& fake, int) {
        fake.limits.groups = {{.page_count = 6}};
        fake.limits.page_tokens = 16;
        fake.limits.sequences_max = 8;
    }});
    const FakeAnswer alone = service.post(path, body(false));
    std::vector<FakeAnswer> answers(8);
    std::vector<std::thread> clients;
    for (FakeAnswer& answer : answers)
        clients.emplace_back([&] { answer = service.post(path, body(true)); });
    for (std::thread& client : clients)
        client.join();
    for (const FakeAnswer& answer : answers) {
        CHECK(answer.status == 200);
        CHECK(has(answer, R"("finish_reason":"length")"));
        CHECK(has(answer, "data: [DONE]"));
    }
    // The engine tells its figures after the last token.
    CHECK(test::eventually(
        [&] { return has(service.get("/metrics"), "etna_kv_pages_used{model=\"stories\"} 0\n"); }));
}

TEST_CASE("a reader that leaves ends its generation, and gives its pages back") {
    FakeService service({.prepare = [](test::FakeOptions& fake, int) { fake.step_delay = 1ms; }});
    service.post(path, R"({"prompt": "Once", "max_tokens": 400, "ignore_eos": true, "stream": true})", 2000);
    const std::string metrics = service.get("/metrics").body;
    CHECK(metrics.find("etna_client_disconnects_total{model=\"stories\"} 1\n") != std::string::npos);
    for (int i = 0; i < 1000 && !has(service.get("/metrics"), "etna_kv_pages_used{model=\"stories\"} 0\n");
         ++i)
        std::this_thread::sleep_for(1ms);
    CHECK(has(service.get("/metrics"), "etna_kv_pages_used{model=\"stories\"} 0\n"));
}

TEST_CASE("bodies that only a program with a grudge sends are refused, and soon") {
    FakeService service({});
    std::string members;
    for (int i = 0; i < 50000; ++i)
        members += (i == 0 ? "" : ",") + ("\"" + std::to_string(i) + "\":0");
    CHECK(service.post(path, R"({"prompt": "a", "x": {)" + members + "}}").status == 400);
    for (const char* tools : {"[5]", "[null]", "[[]]", R"([{"type": 5, "function": {"name": "f"}}])",
                              R"([{"type": "function", "function": 5}])", R"([{"function": {"name": 5}}])"}) {
        const std::string choice = R"("tool_choice": {"type": "function", "function": {"name": "f"}})";
        const FakeAnswer answer =
            service.post("/v1/chat/completions", R"({"messages": [{"role": "user", "content": "a"}], )" +
                                                     choice + R"(, "tools": )" + tools + "}");
        CHECK(answer.status == 400);
        CHECK(has(answer, "tools[0]"));
    }
    CHECK(service.post(path, R"({"prompt": "a", "nvext": {"top_k": 0}})").status == 400);
    CHECK(service.post(path, R"({"prompt": "a", "nvext": {"use_raw_prompt": "yes"}})").status == 400);
}

TEST_CASE("the seed that is told brings the texts of every prompt back") {
    FakeService service({});
    const std::string prompts =
        R"({"prompt": ["Once", "One day"], "temperature": 2, "max_tokens": 12, "ignore_eos": true)";
    const Json first = etna::parse_json(service.post(path, prompts + "}").body);
    const Json again = etna::parse_json(
        service.post(path, prompts + R"(, "seed": )" + std::to_string(first["seed"].get<uint32_t>()) + "}")
            .body);
    CHECK(first["choices"] == again["choices"]);
}

// Faults during requests: lost devices, slow and failing loads, full queues, exhausted pages.
#include "core/base/json.hpp"
#include "server/api/answer.hpp"
#include "tests/server/echo.hpp"
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"

#include <new>
#include <thread>

using namespace etna;
using namespace std::chrono_literals;
using server::Json;
using test::FakeAnswer;
using test::FakeService;

namespace {

constexpr const char* completions_endpoint = "/v1/completions";

std::string completion_body(bool is_streamed, const std::string& more = "") {
    return std::string(
               R"({"prompt": "Once", "max_tokens": 40, "temperature": 0, "ignore_eos": true, "stream": )") +
           (is_streamed ? "true" : "false") + more + "}";
}

bool body_contains(const FakeAnswer& answer, std::string_view part) {
    return answer.body.find(part) != std::string::npos;
}

server::ServiceOptions short_keep_alive() {
    server::ServiceOptions options;
    options.keep_alive = 20ms;
    return options;
}

/// An answer that runs out of memory.
class ThrowingAnswer final : public server::api::Answer {
public:
    using Answer::Answer;

    server::ApiStatus begin(const CancelPoll& /*is_cancelled*/) override { return {}; }
    server::ApiResult<std::string> complete(const CancelPoll& /*is_cancelled*/) override {
        throw std::bad_alloc();
    }
    server::ApiResult<bool> stream(server::EventStream& /*stream*/) override { throw std::bad_alloc(); }
    void send_failure(server::EventStream& stream, const server::ApiError& error) override {
        stream.send(error.message);
    }
};

class SentText final : public server::HttpWriter {
public:
    bool write(std::string_view bytes) override {
        text += bytes;
        return true;
    }
    server::PeerState peer() override { return server::PeerState::open; }

    std::string text;
};

} // namespace

TEST_CASE("a lost device ends its requests with device_lost, and the next request reloads the model") {
    for (const bool is_streamed : {true, false}) {
        FakeService service({.prepare = [](test::FakeOptions& fake, int load) {
            if (load == 1)
                fake.lost_at_step = 9;
        }});
        const FakeAnswer broken = service.post(completions_endpoint, completion_body(is_streamed));
        CHECK(body_contains(broken, "device_lost"));
        if (is_streamed) {
            CHECK(broken.status == 200);
            CHECK(body_contains(broken, "event: error\n"));
            CHECK(body_contains(broken, R"("type":"server_error","param":null,"code":"device_lost")"));
            CHECK(broken.body.ends_with("\n\ndata: [DONE]\n\n"));
        } else {
            CHECK(broken.status == 503);
            CHECK(broken.headers.contains("retry-after"));
        }
        const FakeAnswer next = service.post(completions_endpoint, completion_body(is_streamed));
        CHECK(next.status == 200);
        CHECK(body_contains(next, is_streamed ? "data: [DONE]" : R"("completion_tokens":40)"));
        CHECK(service.loads() == 2);
        CHECK(body_contains(service.get("/metrics"),
                            R"(etna_requests_in_flight{model="stories",endpoint="completions",)"));
    }
}

TEST_CASE("a stream gets keep-alive comments while its model loads, and an error event if that fails") {
    FakeService slow({.service = short_keep_alive(), .loading_time = 200ms});
    const FakeAnswer late = slow.post(completions_endpoint, completion_body(true));
    CHECK(late.status == 200);
    CHECK(late.body.starts_with(": keep-alive\n\n"));
    CHECK(body_contains(late, "data: [DONE]"));

    const Error refusal = {ErrorKind::out_of_memory, "no memory is left for the model"};
    FakeService failing({.service = short_keep_alive(), .loading_time = 200ms, .load_error = refusal});
    const FakeAnswer failed = failing.post(completions_endpoint, completion_body(true));
    CHECK(failed.status == 200);
    CHECK(body_contains(failed, "event: error\n"));
    CHECK(body_contains(failed, "no memory is left for the model"));
    CHECK(failed.body.ends_with("\n\ndata: [DONE]\n\n"));
    CHECK(failing.post(completions_endpoint, completion_body(false)).status ==
          503); // without a stream, the status reports the error
    const FakeAnswer wrong = slow.post(completions_endpoint, R"({"prompt": 1, "stream": true})");
    CHECK(wrong.status == 400); // the model is loaded now
}

TEST_CASE("a full queue gets 429 with Retry-After, and queues no request partially") {
    FakeService service({.queue_max = 1, .prepare = [](test::FakeOptions& fake, int) {
                             fake.limits.sequences_max = 1;
                             fake.step_delay = 2ms;
                         }});
    const FakeAnswer never = service.post(completions_endpoint, completion_body(false, R"(, "n": 3)"));
    CHECK(never.status == 400); // retrying would not help
    CHECK(body_contains(never, "the maximum that can run or wait is 2"));
    FakeAnswer first;
    std::thread busy(
        [&] { first = service.post(completions_endpoint, completion_body(false, R"(, "n": 2)")); });
    CHECK(test::eventually([&] {
        return body_contains(service.get("/metrics"), "etna_requests_running{model=\"stories\"} 1\n");
    }));
    const FakeAnswer refused = service.post(completions_endpoint, completion_body(false));
    CHECK(refused.status == 429);
    CHECK(refused.headers.at("retry-after") == "1");
    CHECK(body_contains(refused, "rate_limit_exceeded"));
    busy.join();
    CHECK(first.status == 200);
    CHECK(service.post(completions_endpoint, completion_body(false)).status == 200);
}

TEST_CASE("exhausted KV pages delay requests, and none fails") {
    FakeService service({.prepare = [](test::FakeOptions& fake, int) {
        fake.limits.groups = {{.page_count = 6}};
        fake.limits.page_tokens = 16;
        fake.limits.sequences_max = 8;
    }});
    const FakeAnswer alone = service.post(completions_endpoint, completion_body(false));
    std::vector<FakeAnswer> answers(8);
    std::vector<std::thread> clients;
    for (FakeAnswer& answer : answers)
        clients.emplace_back([&] { answer = service.post(completions_endpoint, completion_body(true)); });
    for (std::thread& client : clients)
        client.join();
    for (const FakeAnswer& answer : answers) {
        CHECK(answer.status == 200);
        CHECK(body_contains(answer, R"("finish_reason":"length")"));
        CHECK(body_contains(answer, "data: [DONE]"));
    }
    // The engine updates its metrics after the last token.
    CHECK(test::eventually(
        [&] { return body_contains(service.get("/metrics"), "etna_kv_pages_used{model=\"stories\"} 0\n"); }));
}

TEST_CASE("a disconnect ends the generation and releases its pages") {
    FakeService service({.prepare = [](test::FakeOptions& fake, int) { fake.step_delay = 1ms; }});
    service.post(completions_endpoint,
                 R"({"prompt": "Once", "max_tokens": 400, "ignore_eos": true, "stream": true})", 2000);
    const std::string metrics = service.get("/metrics").body;
    CHECK(metrics.find("etna_client_disconnects_total{model=\"stories\"} 1\n") != std::string::npos);
    CHECK(test::eventually(
        [&] { return body_contains(service.get("/metrics"), "etna_kv_pages_used{model=\"stories\"} 0\n"); }));
}

TEST_CASE("a stream whose memory runs out ends with an error 500") {
    FakeService service({});
    ThrowingAnswer answer(server::api::ActiveRequest(service.service(), {}, {}, "chat_completions", "stories",
                                                     /*is_streamed=*/true));
    SentText client;
    server::EventStream stream(client, 1h);
    server::api::send_answer(answer, server::api::AnswerStart::begun, stream);
    CHECK(client.text == "internal server error");
    CHECK(answer.active.log().final_status == 500);
}

TEST_CASE("hostile bodies get 400 quickly") {
    FakeService service({});
    std::string members;
    for (int i = 0; i < 50000; ++i)
        members += (i == 0 ? "" : ",") + ("\"" + std::to_string(i) + "\":0");
    CHECK(service.post(completions_endpoint, R"({"prompt": "a", "x": {)" + members + "}}").status == 400);
    for (const char* tools : {"[5]", "[null]", "[[]]", R"([{"type": 5, "function": {"name": "f"}}])",
                              R"([{"type": "function", "function": 5}])", R"([{"function": {"name": 5}}])"}) {
        const std::string choice = R"("tool_choice": {"type": "function", "function": {"name": "f"}})";
        const FakeAnswer answer =
            service.post("/v1/chat/completions", R"({"messages": [{"role": "user", "content": "a"}], )" +
                                                     choice + R"(, "tools": )" + tools + "}");
        CHECK(answer.status == 400);
        CHECK(body_contains(answer, "tools[0]"));
    }
    CHECK(service.post(completions_endpoint, R"({"prompt": "a", "nvext": {"top_k": 0}})").status == 400);
    CHECK(
        service.post(completions_endpoint, R"({"prompt": "a", "nvext": {"use_raw_prompt": "yes"}})").status ==
        400);
}

TEST_CASE("the returned seed reproduces the texts of every prompt") {
    FakeService service({});
    const std::string prompts =
        R"({"prompt": ["Once", "One day"], "temperature": 2, "max_tokens": 12, "ignore_eos": true)";
    const Json first = etna::parse_json(service.post(completions_endpoint, prompts + "}").body);
    const Json again = etna::parse_json(
        service
            .post(completions_endpoint,
                  prompts + R"(, "seed": )" + std::to_string(first["seed"].get<uint32_t>()) + "}")
            .body);
    CHECK(first["choices"] == again["choices"]);
}

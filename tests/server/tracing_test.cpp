// Tracing: the W3C Trace Context header, spans, their JSON, and the exporter with collectors that are
// unreachable, slow or refuse spans.

#include "core/base/json.hpp"
#include "server/observe/tracing/span_exporter.hpp"
#include "server/observe/tracing/trace_context.hpp"
#include "tests/server/api_client.hpp"
#include "tests/server/echo.hpp"
#include "tests/server/fake_service.hpp"
#include "tests/server/stand_in_collector.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/log_recorder.hpp"

#include <array>
#include <set>
#include <thread>

using namespace etna;
using namespace etna::server::tracing;
using namespace std::chrono_literals;
using etna::server::RequestSummary;
using etna::test::eventually;
using etna::test::StandInCollector;

namespace {

const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string parent = "00f067aa0ba902b7";
const std::string sampled = "00-" + trace + "-" + parent + "-01";

RequestSummary answered_request() {
    return {.method = "POST",
            .path = "/v1/chat/completions",
            .route = "/v1/chat/completions",
            .status = 200,
            .elapsed_ms = 100,
            .remote_address = "127.0.0.1",
            .request_id = "r1",
            .answer = {.model = "demo",
                       .prompt_tokens = 7,
                       .completion_tokens = 3,
                       .times = server::AnswerTimes{
                           .before_queue_ms = 5, .queue_ms = 10, .prefill_ms = 20, .decode_ms = 40}}};
}

const Span::Value* attribute(const Span& span, std::string_view name) {
    for (const auto& [key, value] : span.attributes) {
        if (key == name)
            return &value;
    }
    return nullptr;
}

std::vector<Span> some_spans(std::size_t count) {
    return std::vector<Span>(count, Span{.trace_id = trace, .id = parent, .name = "x"});
}

ExportOptions quick(const std::string& url) {
    return {.url = url, .interval = 5ms, .first_retry = 10ms, .retry_wait_max = 20ms, .answer_limit = 200ms};
}

} // namespace

TEST_CASE("a traceparent names the caller's span") {
    const auto context = parse_traceparent(sampled);
    REQUIRE(context);
    CHECK((context->trace_id == trace && context->parent_id == parent && context->is_sampled));
    CHECK(!parse_traceparent("00-" + trace + "-" + parent + "-00")->is_sampled);
    CHECK(!parse_traceparent("00-" + trace + "-" + parent + "-fe")->is_sampled);
    CHECK(parse_traceparent("cc-" + trace + "-" + parent + "-01-what comes later").has_value());
}

TEST_CASE("a malformed traceparent starts a new trace") {
    const std::string zeros(32, '0');
    for (const std::string& header :
         {std::string(), std::string("00"), sampled.substr(0, 54), sampled + "0", sampled + "-01",
          "ff-" + trace + "-" + parent + "-01", "00-" + zeros + "-" + parent + "-01",
          "00-" + trace + "-" + zeros.substr(0, 16) + "-01", "00_" + trace + "-" + parent + "-01",
          "0g-" + trace + "-" + parent + "-01", "00-4BF92F3577B34DA6A3CE929D0E0E4736-" + parent + "-01",
          "00-" + trace + "-" + parent + "-0x"}) {
        CAPTURE(header);
        CHECK(!parse_traceparent(header));
    }
}

TEST_CASE("a request has a span with child spans for its phases in order") {
    constexpr uint64_t begin = 1'000'000'000'000'000'000;
    constexpr uint64_t ms = 1'000'000;
    const auto spans = spans_of(answered_request(), sampled, begin);
    REQUIRE(spans.size() == 4);
    CHECK((spans[0].trace_id == trace && spans[0].parent_id == parent && spans[0].is_of_server));
    CHECK(spans[0].name == "POST /v1/chat/completions");
    CHECK((spans[0].begin_unix_ns == begin && spans[0].end_unix_ns == begin + 100 * ms));
    const std::vector<std::pair<std::string, std::pair<uint64_t, uint64_t>>> phases = {
        {"queue", {5, 15}}, {"prefill", {15, 35}}, {"decode", {35, 75}}};
    std::set<std::string> ids = {spans[0].id};
    for (std::size_t i = 0; i < phases.size(); ++i) {
        const Span& span = spans[i + 1];
        CHECK(span.name == phases[i].first);
        CHECK((span.parent_id == spans[0].id && span.trace_id == trace && !span.is_of_server));
        CHECK(span.begin_unix_ns == begin + phases[i].second.first * ms);
        CHECK(span.end_unix_ns == begin + phases[i].second.second * ms);
        ids.insert(span.id);
    }
    CHECK(ids.size() == 4);
    CHECK(std::get<int64_t>(*attribute(spans[0], "gen_ai.usage.output_tokens")) == 3);
    CHECK(std::get<double>(*attribute(spans[0], "gen_ai.latency.time_to_first_token")) == Approx(0.035));
    CHECK(std::get<std::string>(*attribute(spans[0], "gen_ai.request.model")) == "demo");
    CHECK(spans[0].error.empty());
}

TEST_CASE("a request without an answer has one span and an unsampled one has none") {
    RequestSummary request = answered_request();
    request.answer = {.error = "device_lost"};
    request.status = 503;
    const auto spans = spans_of(request, "", 1);
    REQUIRE(spans.size() == 1);
    CHECK((spans[0].trace_id.size() == 32 && spans[0].trace_id != trace && spans[0].parent_id.empty()));
    CHECK(spans[0].error == "device_lost");
    CHECK(spans_of(request, "00-" + trace + "-" + parent + "-00", 1).empty());
    request.status = 404;
    CHECK(spans_of(request, "", 1)[0].error.empty()); // a client error
}

TEST_CASE("spans are encoded as OTLP JSON") {
    auto spans = spans_of(answered_request(), sampled, 17);
    spans[0].error = "broken \xff";
    const Json json = Json::parse(otlp_json(spans, "i"));
    const Json& resource = json["resourceSpans"][0];
    CHECK(resource["resource"]["attributes"][0] ==
          Json({{"key", "service.name"}, {"value", {{"stringValue", "etna"}}}}));
    const Json& list = resource["scopeSpans"][0]["spans"];
    REQUIRE(list.size() == 4);
    CHECK(list[0]["traceId"] == trace);
    CHECK((list[0]["kind"] == 2 && list[1]["kind"] == 1));
    CHECK(list[0]["startTimeUnixNano"] == "17"); // 64-bit integers are strings
    CHECK(list[0]["status"]["code"] == 2);
    CHECK(!list[1].contains("status"));
    CHECK(list[1]["parentSpanId"] == list[0]["spanId"]);
    bool has_status_code = false;
    for (const Json& one : list[0]["attributes"])
        has_status_code = has_status_code || one == Json({{"key", "http.response.status_code"},
                                                          {"value", {{"intValue", "200"}}}});
    CHECK(has_status_code);
}

TEST_CASE("the exporter sends batches to the collector") {
    StandInCollector collector;
    test::LineRecorder lines;
    SpanExporter exporter(quick(collector.url("/v1/traces")), lines.sink());
    exporter.add(some_spans(SpanExporter::batch_max + 3));
    CHECK(eventually([&] { return exporter.counts().exported == SpanExporter::batch_max + 3; }));
    const auto requests = collector.requests();
    REQUIRE(requests.size() == 2);
    CHECK(requests[0].starts_with("POST /v1/traces HTTP/1.1\r\n"));
    CHECK(requests[0].find("Content-Type: application/json") != std::string::npos);
    CHECK(requests[1].find("\"traceId\":\"" + trace + "\"") != std::string::npos);
    CHECK(lines.all().empty());
    collector.become(StandInCollector::Manner::rejects_one);
    exporter.add(some_spans(3));
    CHECK(eventually([&] { return exporter.counts().dropped == 1; }));
    CHECK(exporter.counts().exported == SpanExporter::batch_max + 5);
}

TEST_CASE("spans for an unreachable collector are queued up to a limit and logged once") {
    test::LineRecorder lines;
    std::string address;
    {
        const StandInCollector collector;
        address = collector.url("/v1/traces");
    }
    const std::string secret = "http://user:geheim@" + address.substr(7) + "?token=geheim";
    SpanExporter exporter(quick(secret), lines.sink());
    exporter.add(some_spans(3));
    CHECK(eventually([&] { return exporter.counts().is_failing; }));
    std::this_thread::sleep_for(50ms); // several retries
    REQUIRE(lines.all().size() == 1);
    CHECK(lines.all()[0].find("traces do not reach " + address + ": ") == 0);
    CHECK(lines.all()[0].find("geheim") == std::string::npos);
    for (int i = 0; i < 100; ++i)
        exporter.add(some_spans(200));
    CHECK(eventually([&] { return exporter.counts().dropped >= 20'003 - SpanExporter::waiting_max - 200; }));
    CHECK(exporter.counts().dropped <= 20'003 - SpanExporter::waiting_max + SpanExporter::batch_max + 200);
    StandInCollector collector(address);
    CHECK(eventually([&] { return !exporter.counts().is_failing; }));
    CHECK(eventually([&] { return exporter.counts().exported + exporter.counts().dropped == 20'003; }));
    REQUIRE(lines.all().size() == 2);
    CHECK(lines.all()[1].find("traces reach " + address + " again; ") == 0);
}

TEST_CASE("a collector that refuses or is overloaded or sends garbage or hangs delays nothing") {
    for (const StandInCollector::Manner manner :
         {StandInCollector::Manner::refuses, StandInCollector::Manner::is_overloaded,
          StandInCollector::Manner::is_silent, StandInCollector::Manner::trickles,
          StandInCollector::Manner::talks_nonsense}) {
        CAPTURE(static_cast<int>(manner));
        StandInCollector collector({}, manner);
        test::LineRecorder lines;
        SpanExporter exporter(quick(collector.url("/v1/traces")), lines.sink());
        const auto begin = std::chrono::steady_clock::now();
        exporter.add(some_spans(2));
        CHECK(std::chrono::steady_clock::now() - begin < 50ms);
        CHECK(eventually([&] { return exporter.counts().is_failing; }));
        CHECK(lines.all().size() == 1);
        const bool is_final = manner == StandInCollector::Manner::refuses;
        CHECK((exporter.counts().dropped == 2) == is_final);
        collector.become(StandInCollector::Manner::accepts);
        exporter.add(some_spans(1));
        CHECK(eventually([&] { return exporter.counts().exported == (is_final ? 1 : 3); }));
    }
}

TEST_CASE("the exporter's destructor flushes the queue but does not wait for a silent collector") {
    StandInCollector collector;
    {
        ExportOptions options = quick(collector.url("/v1/traces"));
        options.interval = 1h;
        SpanExporter exporter(options, [](std::string_view) {});
        exporter.add(some_spans(1));
    }
    CHECK(collector.requests().size() == 1);
    collector.become(StandInCollector::Manner::is_silent);
    const auto begin = std::chrono::steady_clock::now();
    {
        ExportOptions options = quick(collector.url("/v1/traces"));
        options.answer_limit = 1h;
        SpanExporter exporter(options, [](std::string_view) {});
        exporter.add(some_spans(1));
    }
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
}

TEST_CASE("requests of clients are traced with their phases; probes and scrapes are not") {
    StandInCollector collector;
    SpanExporter exporter(quick(collector.url("/v1/traces")), [](std::string_view) {});
    test::FakeService service({});
    service.service().exporter = &exporter;
    service.get("/health");
    CHECK(service.get("/metrics").body.find("etna_trace_export_failing 0\n") != std::string::npos);
    const server::HttpRequest traced = {.method = "POST",
                                        .path = "/v1/completions",
                                        .headers = {{"host", "127.0.0.1"}, {"traceparent", sampled}},
                                        .body = R"({"prompt": "Once", "max_tokens": 3})"};
    CHECK(service.ask(traced).status == 200);
    CHECK(eventually([&] { return exporter.counts().exported == 4; }));
    const std::string request = collector.requests().back();
    const Json json = Json::parse(request.substr(request.find("\r\n\r\n") + 4));
    const Json& spans = json["resourceSpans"][0]["scopeSpans"][0]["spans"];
    REQUIRE(spans.size() == 4);
    CHECK((spans[0]["traceId"] == trace && spans[0]["parentSpanId"] == parent));
    const auto number = [](const Json& text) { return std::stoull(text.get<std::string>()); };
    for (std::size_t i = 1; i < 4; ++i) {
        CHECK(number(spans[i]["startTimeUnixNano"]) >= number(spans[0]["startTimeUnixNano"]));
        CHECK(number(spans[i]["endTimeUnixNano"]) <= number(spans[0]["endTimeUnixNano"]) + 1'000'000);
    }
    service.post("/v1/completions", R"({"prompt": "Once", "max_tokens": 3, "stream": true})");
    CHECK(eventually([&] { return exporter.counts().exported == 8; }));
    service.post("/v1/completions", R"({"prompt": 3})");
    CHECK(eventually([&] { return exporter.counts().exported == 9; }));
}

TEST_CASE("a background response has the spans of its request when it ends") {
    const StandInCollector collector;
    SpanExporter exporter(quick(collector.url("/v1/traces")), [](std::string_view) {});
    test::FakeService service({.prepare = [](test::FakeOptions& fake, int) { fake.step_delay = 5ms; },
                               .chat_template = test::plain_template,
                               .says = "a dog and a cat"});
    service.service().exporter = &exporter;
    const auto ask = [&](const std::string& more) {
        return service.ask({.method = "POST",
                            .path = "/v1/responses",
                            .headers = {{"host", "127.0.0.1"}, {"traceparent", sampled}},
                            .body = R"({"input": "Hi", "background": true)" + more + "}"});
    };
    REQUIRE(ask("").status == 200);
    REQUIRE(eventually([&] { return exporter.counts().exported == 4; }));
    const std::string request = collector.requests().back();
    const Json json = Json::parse(request.substr(request.find("\r\n\r\n") + 4));
    const Json& spans = json["resourceSpans"][0]["scopeSpans"][0]["spans"];
    REQUIRE(spans.size() == 4);
    CHECK((spans[0]["traceId"] == trace && spans[0]["parentSpanId"] == parent));
    CHECK((spans[0]["name"] == "POST /v1/responses" && spans[0]["kind"] == 2));
    const auto number = [](const Json& text) { return std::stoull(text.get<std::string>()); };
    const std::array names = {"queue", "prefill", "decode"};
    for (std::size_t i = 0; i < names.size(); ++i) {
        const Json& phase = spans[i + 1];
        CHECK((phase["name"] == names[i] && phase["parentSpanId"] == spans[0]["spanId"]));
        CHECK(number(phase["startTimeUnixNano"]) >= number(spans[0]["startTimeUnixNano"]));
        CHECK(number(phase["endTimeUnixNano"]) <= number(spans[0]["endTimeUnixNano"]) + 1'000'000);
    }
    CHECK(ask(R"(, "stream": true)").body.find("response.completed") != std::string::npos);
    CHECK(eventually([&] { return exporter.counts().exported == 8; }));
    CHECK(ask(R"(, "temperature": 7)").status == 400); // refused before it runs
    CHECK(eventually([&] { return exporter.counts().exported == 9; }));
}

// The load of models for routers: vLLM's metrics, and reports in response headers.
#include "core/base/json.hpp"
#include "server/observe/load_report.hpp"
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

using namespace etna;
using server::Json;
using test::FakeAnswer;
using test::FakeService;

namespace {

/// Parses Prometheus' text format into samples by name and labels. Fails on a malformed line, on a family
/// that is declared twice or not at all, and on a duplicate sample.
std::map<std::string, double> parsed_metrics(const std::string& text) {
    const std::string name_letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:";
    std::map<std::string, double> samples;
    std::set<std::string> families;
    std::string family, type;
    REQUIRE(text.ends_with('\n'));
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        const std::string line = text.substr(begin, end - begin);
        begin = end + 1;
        INFO(line);
        if (line.starts_with("# HELP ")) {
            const std::size_t space = line.find(' ', 7);
            REQUIRE(space != std::string::npos);
            family = line.substr(7, space - 7);
            REQUIRE(families.insert(family).second);
            continue;
        }
        if (line.starts_with("# TYPE ")) {
            REQUIRE(line.starts_with("# TYPE " + family + " "));
            type = line.substr(8 + family.size());
            REQUIRE(std::set<std::string>{"counter", "gauge", "histogram"}.contains(type));
            continue;
        }
        const std::string name = line.substr(0, line.find_first_not_of(name_letters));
        const std::string suffix = name.starts_with(family) ? name.substr(family.size()) : "?";
        REQUIRE((type == "histogram" ? std::set<std::string>{"_bucket", "_sum", "_count"}
                                     : std::set<std::string>{""})
                    .contains(suffix));
        const std::size_t space = line.rfind(' ');
        const std::string key = line.substr(0, space);
        REQUIRE((key == name || (key[name.size()] == '{' && key.ends_with("\"}"))));
        std::size_t read = 0;
        const double value = std::stod(line.substr(space + 1), &read);
        REQUIRE(read == line.size() - space - 1);
        REQUIRE(samples.emplace(key, value).second);
    }
    return samples;
}

FakeAnswer ask_with(FakeService& service, const std::string& format, const std::string& more = "") {
    return service.ask({.method = "POST",
                        .path = "/v1/completions",
                        .headers = {{"host", "127.0.0.1"}, {"endpoint-load-metrics-format", format}},
                        .body = R"({"prompt": "Once", "max_tokens": 2)" + more + "}"});
}

} // namespace

TEST_CASE("vLLM's metrics have the engine's values") {
    FakeService service({.names = {"stories", "a \"b\"\\"}});
    const std::string labels = R"({model_name="stories",engine="0"})";
    auto before = parsed_metrics(service.get("/metrics").body);
    CHECK(before.at("vllm:num_requests_waiting" + labels) ==
          0); // not loaded: present, so that a router can read it
    CHECK(before.at("vllm:kv_cache_usage_perc" + labels) == 0);
    CHECK(before.contains(R"(vllm:num_requests_running{model_name="a \"b\"\\",engine="0"})"));
    REQUIRE(service
                .post("/v1/completions",
                      R"({"model": "stories", "prompt": "Once", "max_tokens": 6, "ignore_eos": true})")
                .status == 200);
    const auto after = parsed_metrics(service.get("/metrics").body);
    const auto engine = service.service().models.find_loaded("stories")->engine().load();
    CHECK(
        after.at(fmt::format("vllm:cache_config_info{{model_name=\"stories\",engine=\"0\",block_size=\"{}\","
                             "num_gpu_blocks=\"{}\",enable_prefix_caching=\"True\"}}",
                             engine.page_tokens, engine.prefix_pages)) == 1);
    CHECK(engine.page_tokens > 0);
    CHECK(engine.prefix_pages > 0);
    CHECK(after.at("vllm:time_to_first_token_seconds_count" + labels) == 1);
    CHECK(after.at("vllm:inter_token_latency_seconds_count" + labels) == 5);
    CHECK(after.at("vllm:generation_tokens_total" + labels) == 6);
    CHECK(after.at("vllm:prompt_tokens_total" + labels) > 0);
    CHECK(
        after.at(R"(vllm:request_success_total{model_name="stories",engine="0",finished_reason="length"})") ==
        1);
    for (const char* const name :
         {"e2e_request_latency", "request_queue_time", "request_prefill_time", "request_decode_time"})
        CHECK(after.at(fmt::format("vllm:{}_seconds_count", name) + labels) == 1);
    CHECK(after.at("vllm:request_time_per_output_token_seconds_count" + labels) == 1);
    CHECK(after.at("vllm:inter_token_latency_seconds_sum" + labels) ==
          Approx(5 * after.at("vllm:request_time_per_output_token_seconds_sum" + labels)));
    CHECK(after.at(R"(vllm:time_to_first_token_seconds_bucket{model_name="stories",engine="0",le="+Inf"})") ==
          1);
}

TEST_CASE("vLLM's histograms have its buckets and the others have ours") {
    FakeService service({});
    REQUIRE(service.post("/v1/completions", R"({"prompt": "Once", "max_tokens": 3})").status == 200);
    const std::string text = service.get("/metrics").body;
    const auto bounds_of = [&](const std::string& name) {
        std::vector<double> bounds;
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line);) {
            const std::size_t at = line.find("le=\"");
            if (line.starts_with(name + "_bucket{") && line.find("+Inf") == std::string::npos)
                bounds.push_back(std::stod(line.substr(at + 4)));
        }
        return bounds;
    };
    const std::vector<double> request = {0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                         30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680};
    const std::vector<double> token = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
                                       0.75, 1,     2.5,  5,     7.5, 10,   20,  40,  80};
    const std::vector<double> first = {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
                                       1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560};
    const std::vector<double> ours = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                      0.5,   1,      2.5,   5,    10,    30,   60,  300};
    for (const char* const name :
         {"e2e_request_latency", "request_queue_time", "request_prefill_time", "request_decode_time"})
        CHECK(bounds_of(fmt::format("vllm:{}_seconds", name)) == request);
    CHECK(bounds_of("vllm:inter_token_latency_seconds") == token);
    CHECK(bounds_of("vllm:request_time_per_output_token_seconds") == token);
    CHECK(bounds_of("vllm:time_to_first_token_seconds") == first);
    for (const char* const name : {"time_to_first_token", "inter_token", "prompt", "queue", "request"})
        CHECK(bounds_of(fmt::format("etna_{}_seconds", name)) == ours);
}

TEST_CASE("the cache usage is the fraction of pages that requests hold") {
    const auto report = server::load_report(
        {.waiting = 3, .running = 2, .pages_total = 8, .pages_used = 2, .pages_cached = 5});
    CHECK(report.waiting == 3);
    CHECK(report.running == 2);
    CHECK(report.kv_cache_usage == 0.25);
    CHECK(server::load_report({}).kv_cache_usage == 0);
}

TEST_CASE("a response has a load report in the format that its request asks for") {
    FakeService service({});
    const FakeAnswer text = ask_with(service, "TEXT");
    CHECK(text.status == 200);
    CHECK(text.headers.at("endpoint-load-metrics").starts_with("TEXT named_metrics.kv_cache_usage_perc="));
    CHECK(text.headers.at("endpoint-load-metrics").ends_with(", named_metrics.num_requests_waiting=0.0"));
    const FakeAnswer json = ask_with(service, "json", R"(, "stream": true)");
    REQUIRE(json.headers.at("endpoint-load-metrics").starts_with("JSON "));
    const Json report = Json::parse(json.headers.at("endpoint-load-metrics").substr(5));
    CHECK(report["named_metrics"]["num_requests_waiting"].get<double>() <= 1); // may be the request itself
    CHECK(report["named_metrics"]["kv_cache_usage_perc"].get<double>() <= 1);
    CHECK(!ask_with(service, "BIN").headers.contains("endpoint-load-metrics"));
    CHECK(!ask_with(service, "").headers.contains("endpoint-load-metrics"));
    CHECK(ask_with(service, "BIN").status == 200);
    const FakeAnswer other =
        service.ask({.method = "GET",
                     .path = "/health",
                     .headers = {{"host", "127.0.0.1"}, {"endpoint-load-metrics-format", "TEXT"}}});
    CHECK(!other.headers.contains("endpoint-load-metrics")); // no model is involved
}

TEST_CASE("a load report has vLLM's format") {
    const server::LoadReport report = {.waiting = 2, .running = 1, .kv_cache_usage = 0.4};
    CHECK(server::load_report_text("text", report) ==
          "TEXT named_metrics.kv_cache_usage_perc=0.4, named_metrics.num_requests_waiting=2.0");
    CHECK(server::load_report_text("Json", report) ==
          R"(JSON {"named_metrics": {"kv_cache_usage_perc": 0.4, "num_requests_waiting": 2.0}})");
    CHECK(server::load_report_text("text", {}) ==
          "TEXT named_metrics.kv_cache_usage_perc=0.0, named_metrics.num_requests_waiting=0.0");
    CHECK(server::load_report_text("JSONL", report).empty());
}

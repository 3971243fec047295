// What the web page shows of the server: models, devices, clients, throughput and the last requests.
#include "server/observe/client_activity.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

using namespace etna;
using namespace etna::test;

namespace {

constexpr const char* state_path = "/page/state";

FakeService::Options answering() {
    return {.reads_facts = true, .chat_template = marked_template, .says = "a dog"};
}

std::string short_chat(const std::string& text = "Hello") {
    return fmt::format(
        R"({{"model": "stories", "messages": [{{"role": "user", "content": "{}"}}], "max_tokens": 2}})",
        text);
}

std::set<std::string> members_of(const Json& object) {
    std::set<std::string> names;
    for (const auto& [name, value] : object.items())
        names.insert(name);
    return names;
}

FakeAnswer send_with_id(FakeService& service, const std::string& id, const std::string& path,
                        const std::string& body) {
    server::HttpRequest request = post_request(path, body);
    request.headers["x-request-id"] = id;
    return service.ask(request);
}

uint64_t sum_of(const Json& numbers) {
    uint64_t sum = 0;
    for (const Json& number : numbers)
        sum += number.get<uint64_t>();
    return sum;
}

runtime::DeviceReport gpu_report() {
    runtime::DeviceReport report;
    report.profile.name = "fake";
    report.profile.driver = "driver 1.2";
    report.profile.type = vk::DeviceType::discrete;
    report.total_bytes = 10'000;
    report.free_bytes = 7'000;
    report.self_check.state = runtime::SelfCheckReport::State::passed;
    report.is_chosen = true;
    return report;
}

/// The entry of a background response, once it has ended; null if it does not end within ten seconds.
Json background_request(FakeService& service) {
    Json requests;
    (void)test::eventually([&] {
        requests = json_of(service.get(state_path))["requests"];
        return !requests.empty();
    });
    return requests.empty() ? Json() : requests[0];
}

} // namespace

TEST_CASE("the page's state has every member, and null for what is unknown") {
    FakeService service({});
    const FakeAnswer answer = service.get(state_path);
    const Json state = json_of(answer);
    CHECK(header_of(answer, "cache-control") == "no-store");
    CHECK(header_of(answer, "content-encoding").empty());
    CHECK(members_of(state) == std::set<std::string>{"version", "time_ms", "started_ms", "is_operator",
                                                     "can_pull", "inspects", "stores_responses", "is_keyed",
                                                     "devices", "models", "clients", "throughput",
                                                     "requests"});
    CHECK(state["version"] == ETNA_VERSION);
    CHECK(state["time_ms"] >= state["started_ms"]);
    CHECK((state["is_operator"] == true && state["can_pull"] == false));
    CHECK((state["inspects"] == false && state["is_keyed"] == false));
    CHECK((state["devices"].empty() && state["clients"].empty() && state["requests"].empty()));
    REQUIRE(state["models"].size() == 1);
    const Json& model = state["models"][0];
    CHECK(members_of(model) ==
          std::set<std::string>{
              "name",           "aliases",    "state",          "problem",    "file_bytes",
              "context_tokens", "parameters", "architecture",   "format",     "memory_bytes",
              "planned_bytes",  "device",     "is_pinned",      "idle_s",     "unloads_in_s",
              "running",        "waiting",    "pages_total",    "pages_used", "pages_cached",
              "can_chat",       "can_think",  "can_call_tools", "can_embed",  "load_progress"});
    CHECK((model["name"] == "stories" && model["state"] == "unloaded"));
    CHECK(model["file_bytes"].get<uint64_t>() > 100'000);
    for (const char* unknown :
         {"problem", "context_tokens", "parameters", "architecture", "format", "memory_bytes",
          "planned_bytes", "device", "idle_s", "unloads_in_s", "pages_total", "pages_used", "pages_cached",
          "can_chat", "can_think", "can_call_tools", "can_embed", "load_progress"}) {
        CAPTURE(unknown);
        CHECK(model[unknown].is_null());
    }
    const Json& throughput = state["throughput"];
    CHECK(throughput["step_s"] == 10);
    CHECK((throughput["prompt_tokens"].size() == 90 && throughput["generated_tokens"].size() == 90));
}

TEST_CASE("the page's state has facts of inspected and loaded models") {
    FakeService service(answering());
    service.service().models.inspect();
    Json model = json_of(service.get(state_path))["models"][0];
    CHECK((model["architecture"] == "llama" && model["context_tokens"].get<int>() > 0));
    CHECK(model["parameters"].get<uint64_t>() > 200'000);
    CHECK((model["can_embed"] == false && model["can_think"] == false));

    REQUIRE(service.post(chats_path, short_chat()).status == 200);
    const Json state = json_of(service.get(state_path));
    model = state["models"][0];
    CHECK((model["state"] == "loaded" && model["device"] == "fake"));
    CHECK((model["can_chat"] == true && model["memory_bytes"] == FakeService::model_bytes));
    CHECK((model["pages_total"] == 4096 && model["pages_used"].is_number() && model["idle_s"].is_number()));
    CHECK((model["running"] == 0 && model["waiting"] == 0 && model["unloads_in_s"].is_null()));
    const Json request = state["requests"][0];
    CHECK(sum_of(state["throughput"]["prompt_tokens"]) == request["prompt_tokens"]);
    CHECK(sum_of(state["throughput"]["generated_tokens"]) == request["completion_tokens"]);
}

TEST_CASE("a model whose file is broken is in the page's state with the problem") {
    FakeService::Options options = answering();
    options.load_error = Error{ErrorKind::corrupt, "the file ends in a tensor"};
    FakeService service(options);
    CHECK(service.post(chats_path, short_chat()).status >= 400);
    const Json state = json_of(service.get(state_path));
    REQUIRE(state["models"].size() == 1);
    CHECK((state["models"][0]["state"] == "broken" && state["models"][0]["problem"].is_string()));
    CHECK(state["requests"][0]["outcome"] == "error");
}

TEST_CASE("the page's state has the weights that a load has read") {
    FakeService::Options options = answering();
    const auto fractions = std::make_shared<server::LoadFractions>();
    options.service.load_fractions = fractions;
    Json during;
    FakeService* running = nullptr;
    std::string source;
    options.prepare = [&](FakeOptions&, int) {
        fractions->set(source, 0.25);
        during = etna::parse_json(running->get(state_path).body)["models"][0];
        fractions->remove(source);
    };
    FakeService service(options);
    running = &service;
    source = service.service().models.list().at(0).source.name;
    REQUIRE(service.post(chats_path, short_chat()).status == 200);
    CHECK((during["state"] == "loading" && during["load_progress"] == 0.25 && during["waiting"] == 1));
    CHECK(json_of(service.get(state_path))["models"][0]["load_progress"].is_null());
}

TEST_CASE("the page's state has devices, with the memory of models and of others") {
    FakeService::Options options = answering();
    options.service.device_reporter = [] {
        runtime::DeviceReport other;
        other.profile.name = "other";
        other.missing = "bufferDeviceAddress";
        return runtime::DeviceReports{gpu_report(), other};
    };
    FakeService service(options);
    const Json devices = json_of(service.get(state_path))["devices"];
    REQUIRE(devices.size() == 2);
    CHECK(devices[0] == Json({{"name", "fake"},
                              {"driver", "driver 1.2"},
                              {"is_cpu", false},
                              {"is_chosen", true},
                              {"self_check", "passed"},
                              {"note", nullptr},
                              {"total_bytes", 10'000},
                              {"free_bytes", 7'000},
                              {"weights_bytes", 0},
                              {"cache_bytes", 0},
                              {"etna_bytes", 0},
                              {"other_bytes", 3'000}}));
    CHECK((devices[1]["self_check"].is_null() && devices[1]["total_bytes"].is_null()));
    CHECK((devices[1]["driver"].is_null() && devices[1]["other_bytes"].is_null()));
    CHECK(devices[1]["note"] == "unusable: it lacks bufferDeviceAddress");
}

TEST_CASE("the journal has the last hundred requests, newest first") {
    FakeService service(answering());
    for (int i = 0; i < 103; ++i)
        REQUIRE(send_with_id(service, fmt::format("id-{}", i), chats_path, short_chat()).status == 200);
    const Json requests = json_of(service.get(state_path))["requests"];
    REQUIRE(requests.size() == 100);
    for (std::size_t i = 0; i < requests.size(); ++i)
        CHECK(requests[i]["id"] == fmt::format("id-{}", 102 - i));
    const Json& newest = requests[0];
    CHECK(members_of(newest) == std::set<std::string>{"id", "time_ms", "method", "path", "status", "outcome",
                                                      "model", "client", "error", "prompt_tokens",
                                                      "cached_tokens", "completion_tokens", "load_ms",
                                                      "queue_ms", "prefill_ms", "decode_ms", "elapsed_ms"});
    CHECK((newest["method"] == "POST" && newest["path"] == chats_path && newest["model"] == "stories"));
    CHECK((newest["status"] == 200 && newest["outcome"] == "ok" && newest["error"].is_null()));
    CHECK((newest["prompt_tokens"].get<int>() > 0 && newest["completion_tokens"] == 2));
    CHECK(newest["cached_tokens"].get<int>() > 0); // of the request before it
    CHECK(requests[99]["time_ms"] <= newest["time_ms"]);
    for (const char* time : {"load_ms", "queue_ms", "prefill_ms", "decode_ms", "elapsed_ms"})
        CHECK(newest[time].is_number());
    CHECK(service.get("/page/requests/id-2").status == 404); // it has left the journal
    const Json one = json_of(service.get("/page/requests/id-102"));
    CHECK((one["id"] == "id-102" && one["prompt"].is_null()));
}

TEST_CASE("requests that generate, embed or rank are in the journal, and no others") {
    FakeService service(answering());
    REQUIRE(service.post(chats_path, short_chat()).status == 200);
    REQUIRE(
        service.post(completions_path, R"({"model": "stories", "prompt": "Hi", "max_tokens": 1})").status ==
        200);
    REQUIRE(service.post("/v1/embeddings", R"({"model": "stories", "input": ["Hi", "Ho"]})").status == 200);
    REQUIRE(service.post(chats_path, R"({"model": "stories", "messages": [], "max_tokens": "x"})").status ==
            400);
    const Json requests = json_of(service.get(state_path))["requests"];
    REQUIRE(requests.size() == 4);
    CHECK((requests[0]["status"] == 400 && requests[0]["error"].is_string()));
    CHECK((requests[1]["path"] == "/v1/embeddings" && requests[1]["prompt_tokens"].get<int>() > 1));
    CHECK(requests[1]["completion_tokens"].is_null());

    for (const char* path : {"/v1/models", "/health", "/metrics", "/", "/page/none/none", "/api/ps"})
        service.get(path);
    REQUIRE(service.post("/tokenize", R"({"content": "Hi"})").status == 200);
    REQUIRE(service.post("/api/generate", R"({"model": "stories", "keep_alive": -1})").status == 200);
    server::HttpRequest count =
        post_request("/v1/messages/count_tokens",
                     R"({"model": "stories", "messages": [{"role": "user", "content": "Hi"}]})");
    REQUIRE(service.ask(count).status == 200);
    CHECK(json_of(service.get(state_path))["requests"].size() == 4);
}

TEST_CASE("a background response is in the journal once, when it has ended") {
    FakeService service(answering());
    REQUIRE(
        service
            .post(responses_path,
                  R"({"model": "stories", "input": "Hello", "background": true, "max_output_tokens": 16})")
            .status == 200);
    const Json request = background_request(service);
    CHECK((request["path"] == responses_path && request["status"] == 200));
    CHECK((request["prompt_tokens"].get<int>() > 0 && request["completion_tokens"].get<int>() > 0));
    CHECK(request["elapsed_ms"].get<double>() > 0);
    CHECK(json_of(service.get(state_path))["requests"].size() == 1);
}

TEST_CASE("rendered prompts are kept only if the operator allows it") {
    FakeService::Options options = answering();
    options.service.keeps_prompts = true;
    FakeService service(options);
    REQUIRE(send_with_id(service, "mine", chats_path, short_chat("Who is there?")).status == 200);
    const Json state = json_of(service.get(state_path));
    CHECK((state["inspects"] == true && !state["requests"][0].contains("prompt")));
    const Json request = json_of(service.get("/page/requests/mine"));
    CHECK(request["prompt"] == "<user>Who is there?</end><assistant>");
    CHECK(request["cached_tokens"].is_number());
    CHECK(error_of(service.get("/page/requests/other"), 404)["code"] == "request_not_found");
}

TEST_CASE("a key's client sees its own requests, and no names of others; the operator sees all") {
    FakeService::Options options = answering();
    options.service.keeps_prompts = true;
    options.service.access.api_keys = {"ann-key", "bob-key", "root-key"};
    options.service.access.operator_keys = {"root-key"};
    FakeService service(options);
    REQUIRE(send_as(service, "ann-key", "POST", chats_path, short_chat("a secret")).status == 200);
    REQUIRE(send_as(service, "bob-key", "POST", chats_path, short_chat()).status == 200);

    const FakeAnswer of_bob = send_as(service, "bob-key", "GET", state_path);
    const Json bob = json_of(of_bob);
    CHECK((bob["is_operator"] == false && bob["is_keyed"] == true));
    REQUIRE(bob["requests"].size() == 1);
    CHECK(bob["requests"][0]["client"] == "key 2");
    CHECK(bob["models"].size() == 1);

    const FakeAnswer of_root = send_as(service, "root-key", "GET", state_path);
    const Json root = json_of(of_root);
    CHECK(root["is_operator"] == true);
    REQUIRE(root["requests"].size() == 2);
    CHECK((root["requests"][0]["client"] == "key 2" && root["requests"][1]["client"] == "key 1"));
    for (const FakeAnswer& answer : {of_bob, of_root})
        CHECK(!contains(answer, "-key"));

    const std::string of_ann = "/page/requests/" + root["requests"][1]["id"].get<std::string>();
    CHECK(send_as(service, "bob-key", "GET", of_ann).status == 404);
    CHECK(contains(send_as(service, "ann-key", "GET", of_ann), "a secret"));
    CHECK(contains(send_as(service, "root-key", "GET", of_ann), "a secret"));
}

TEST_CASE("the state shows a running request's client to itself and to the operator alone") {
    FakeService::Options options = answering();
    options.service.access.api_keys = {"ann-key", "bob-key", "root-key"};
    options.service.access.operator_keys = {"root-key"};
    FakeService* running = nullptr;
    std::vector<Json> seen; // clients as seen by Ann, Bob and the operator in the first step
    options.prepare = [&](FakeOptions& fake, int) {
        fake.on_submit = [&](const engine::Batch&) {
            if (!seen.empty())
                return;
            for (const char* key : {"ann-key", "bob-key", "root-key"})
                seen.push_back(json_of(send_as(*running, key, "GET", state_path))["clients"]);
        };
    };
    FakeService service(options);
    running = &service;
    REQUIRE(send_as(service, "ann-key", "POST", chats_path, short_chat()).status == 200);
    REQUIRE(seen.size() == 3);
    for (const Json& clients : seen) {
        REQUIRE(clients.size() == 1);
        CHECK(clients[0]["running"].get<int>() + clients[0]["waiting"].get<int>() == 1);
    }
    CHECK((seen[0][0]["client"] == "key 1" && seen[1][0]["client"].is_null() &&
           seen[2][0]["client"] == "key 1"));
    CHECK(json_of(send_as(service, "ann-key", "GET", state_path))["clients"].empty());
}

TEST_CASE("the state is not logged, unless it is refused") {
    server::ServiceOptions options;
    options.access.api_keys = {"secret"};
    FakeService service({.service = options});
    std::vector<std::string> lines;
    service.service().log = [&](std::string_view line) { lines.emplace_back(line); };
    CHECK(send_as(service, "secret", "GET", state_path).status == 200);
    CHECK(lines.empty());
    CHECK(service.get(state_path).status == 401);
    CHECK(lines.size() == 1);
}

TEST_CASE("requests of a client are counted as waiting, then as running, until they end") {
    using server::ClientActivity;
    ClientActivity activity;
    {
        const ClientActivity::Request one(activity, 7, "key 1");
        ClientActivity::Request two(activity, 7, "key 1");
        const ClientActivity::Request other(activity, 8, "key 0");
        two.begin_running();
        two.begin_running();
        const auto clients = activity.clients();
        REQUIRE(clients.size() == 2);
        CHECK((clients[0].label == "key 0" && clients[0].waiting == 1 && clients[0].running == 0));
        CHECK((clients[1].id == 7 && clients[1].waiting == 1 && clients[1].running == 1));
    }
    CHECK(activity.clients().empty());
}

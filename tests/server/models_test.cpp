// Which models are in memory.
#include "tests/server/echo.hpp"
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <thread>

using namespace etna;
using server::Json;
using test::FakeAnswer;
using test::FakeService;
using namespace std::chrono_literals;

namespace {

int ask(FakeService& service, const std::string& model, int tokens = 1) {
    return service
        .post("/v1/completions", R"({"prompt": "Once", "ignore_eos": true, "model": ")" + model +
                                     R"(", "max_tokens": )" + std::to_string(tokens) + "}")
        .status;
}

std::string loaded(FakeService& service) {
    const Json listed = etna::parse_json(service.get("/dynamo/alpha/list-models").body);
    std::string names;
    for (const Json& model : listed["data"])
        names += model["loaded"].get<bool>() ? model["name"].get<std::string>() : "";
    return names;
}

} // namespace

TEST_CASE("the model that was used least recently leaves when memory is short") {
    FakeService service({.names = {"a", "b", "c"}, .models_that_fit = 2});
    CHECK((ask(service, "a") == 200 && ask(service, "b") == 200 && loaded(service) == "ab"));
    CHECK((ask(service, "a") == 200 && ask(service, "c") == 200));
    CHECK(loaded(service) == "ac"); // b was used before a
    CHECK((ask(service, "b") == 200 && loaded(service) == "bc"));
}

TEST_CASE("a model at work stays when memory is short, and who asks for another is told") {
    FakeService service({.names = {"a", "b"},
                         .models_that_fit = 1,
                         .prepare = [](test::FakeOptions& fake, int) { fake.step_delay = 1ms; }});
    const auto running = [&](int count) { // the engine tells it after the step
        return test::eventually([&] {
            const std::string told = "etna_requests_running{model=\"a\"} " + std::to_string(count) + "\n";
            return service.get("/metrics").body.find(told) != std::string::npos;
        });
    };
    REQUIRE(ask(service, "a") == 200);
    REQUIRE(running(0));
    int status = 0;
    std::thread busy([&] { status = ask(service, "a", 400); });
    CHECK(running(1));
    CHECK(ask(service, "b") == 503);
    busy.join();
    CHECK(status == 200);
    CHECK((ask(service, "b") == 200 && loaded(service) == "b"));
}

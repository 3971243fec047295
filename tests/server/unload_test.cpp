// Models that clients unload from the memory that all share.

#include "core/store/resolve.hpp"
#include "server/models/models.hpp"
#include "tests/server/echo.hpp"
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace etna::test {
namespace {

using namespace std::chrono_literals;
using server::Models;

/// One model, `a`.
Models model_a(Models::Options options) {
    options.named = {
        {.name = "a", .source = store::resolve(ETNA_TEST_DATA "/models/stories260K.gguf", "").value()}};
    return Models(std::move(options),
                  [](const store::ModelSource& source, uint64_t) { return FakeService::load_plain(source); });
}

} // namespace

TEST_CASE("a client does not unload a model that another client uses, or has used of late") {
    Models models = model_a({.quiet_time = 1h});
    constexpr uint64_t own = 1;
    constexpr uint64_t other = 2;
    const auto problem_of = [&](uint64_t client) {
        const auto unloading = models.unload("a", client);
        return unloading ? std::nullopt : std::optional(unloading.error().problem);
    };
    auto held = models.acquire("a", {}, other).value();
    CHECK(problem_of(own) == server::UnloadProblem::in_use);
    held.reset();
    CHECK(problem_of(own) == server::UnloadProblem::in_use);
    CHECK(models.unload("a", own).error().retry_in > 59min);
    CHECK(models.find("a")->is_loaded);
    CHECK(models.set_idle_max("a", 0ms, own)); // a short keep_alive is no way around
    std::this_thread::sleep_for(20ms);         // for an unload that must not happen
    CHECK(models.find("a")->is_loaded);
    const auto again = models.acquire("a", {}, other).value();
    CHECK(models.unload("a", other).value() == server::Unloading::after_requests); // its own
}

TEST_CASE("a client unloads a model once the others have been quiet") {
    Models models = model_a({.quiet_time = 30ms});
    models.acquire("a", {}, 2).value().reset();
    CHECK(test::eventually([&] { return models.unload("a", 1).has_value(); }));
    CHECK(!models.find("a")->is_loaded);
    models.acquire("a", {}, 2).value().reset();
    CHECK(models.set_idle_max("a", 0ms, 1));
    CHECK(test::eventually([&] { return !models.find("a")->is_loaded; }));
}

TEST_CASE("a pinned model is not unloaded by any client") {
    Models models = model_a({.pinned = {"a"}});
    models.acquire("a", {}, 1).value().reset();
    CHECK(models.unload("A.gguf", 1).error().problem == server::UnloadProblem::pinned);
    CHECK(models.unload("a").error().problem == server::UnloadProblem::pinned);
    CHECK(models.find("a")->is_loaded);
}

TEST_CASE("a client unloads at most unloads_max models in a window, and others still can") {
    Models models = model_a({});
    for (std::size_t i = 0; i < server::UnloadRules::unloads_max; ++i) {
        models.acquire("a", {}, 1).value().reset();
        CHECK(models.unload("a", 1).value() == server::Unloading::done);
        CHECK(models.unload("a", 1).value() == server::Unloading::not_loaded); // which does not count
    }
    models.acquire("a", {}, 1).value().reset();
    const auto refused = models.unload("a", 1);
    REQUIRE(!refused);
    CHECK(refused.error().problem == server::UnloadProblem::too_often);
    CHECK(refused.error().retry_in > 0ms);
    CHECK(models.unload("a").value() == server::Unloading::done);
}

TEST_CASE("with keys, unloading needs the operator, and keep_alive of others is ignored") {
    server::ServiceOptions options;
    options.access.api_keys = {"key", "operator"};
    options.access.operator_keys = {"operator"};
    FakeService service({.service = options});
    const auto post_as = [&](const std::string& key, const std::string& path, const std::string& body) {
        return service.ask({.method = "POST",
                            .path = path,
                            .headers = {{"authorization", "Bearer " + key}, {"host", "x"}},
                            .body = body,
                            .remote_address = "127.0.0.1"});
    };
    const std::string generate = R"({"model": "stories", "stream": false, "prompt": "Hi", )"
                                 R"("options": {"num_predict": 1}, "keep_alive": )";
    const auto is_loaded = [&] { return service.service().models.find("stories")->is_loaded; };
    const FakeAnswer kept = post_as("key", "/api/generate", generate + "0}");
    CHECK(kept.status == 200);
    CHECK(kept.headers.at("etna-ignored") == "keep_alive");
    CHECK(is_loaded());
    const FakeAnswer forever = post_as("key", "/api/generate", generate + "-1}");
    CHECK(forever.headers.at("etna-ignored") == "keep_alive");
    const FakeAnswer embedded =
        post_as("key", "/api/embed", R"({"model": "stories", "input": "a", "keep_alive": 0})");
    CHECK(embedded.headers.at("etna-ignored") == "keep_alive");
    CHECK(is_loaded());
    for (const auto& [path, body] :
         {std::pair<std::string, std::string>("/models/unload", R"({"model": "stories"})"),
          {"/api/generate", R"({"model": "stories", "keep_alive": 0})"},
          {"/api/chat", R"({"model": "stories", "keep_alive": "0s"})"}}) {
        CAPTURE(path);
        CHECK(post_as("key", path, body).status == 403);
        CHECK(is_loaded());
        CHECK(post_as("operator", path, body).status == 409); // `key` has just used it
        CHECK(is_loaded());
    }
    CHECK(service.service().models.unload("stories"));
    CHECK(post_as("operator", "/api/generate", generate + "0}").status == 200);
    CHECK(is_loaded()); // the other key used it less than a minute ago
}

} // namespace etna::test

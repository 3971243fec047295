// Models whose files appear, disappear, are replaced or broken; the limit of loaded models; eviction.
#include "core/base/json.hpp"
#include "server/models/models.hpp"
#include "tests/server/echo.hpp"
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/gguf_writer.hpp"
#include "tests/support/log_recorder.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

using namespace etna;
using server::Json;
using server::Models;
using test::FakeAnswer;
using test::FakeService;
using namespace std::chrono_literals;

namespace {

const std::filesystem::path stories = ETNA_TEST_DATA "/models/stories260K.gguf";

std::string listed_names(FakeService& service) {
    const Json listed = etna::parse_json(service.get("/v1/models").body);
    std::string names;
    for (const Json& model : listed["data"])
        names += model["id"].get<std::string>() + " ";
    return names;
}

bool is_listed_nowhere(FakeService& service, const std::string& model) {
    return listed_names(service).empty() && service.get("/v1/models/" + model).status == 404 &&
           etna::parse_json(service.get("/dynamo/alpha/list-models").body)["data"].empty();
}

FakeAnswer complete_with(FakeService& service, const std::string& model, int tokens = 1) {
    return service.post("/v1/completions", R"({"prompt": "Once", "ignore_eos": true, "model": ")" + model +
                                               R"(", "max_tokens": )" + std::to_string(tokens) + "}");
}

std::string loaded_names(FakeService& service) {
    const Json listed = etna::parse_json(service.get("/dynamo/alpha/list-models").body);
    std::string names;
    for (const Json& model : listed["data"])
        names += model["loaded"].get<bool>() ? model["name"].get<std::string>() : "";
    return names;
}

void wait_for_scan() {
    std::this_thread::sleep_for(1100ms); // a listing of a folder is valid for 1 s
}

} // namespace

TEST_CASE("a file is served under its own name, and hides a built-in model of that name") {
    const test::LogRecorder log;
    const test::TemporaryFolder folder;
    for (const char* name : {"demo.gguf", "a.gguf.gguf", "b\xff.gguf"})
        std::filesystem::copy_file(stories, folder.path() / name);
    FakeService service({.names = {}, .folder = folder.path()});
    CHECK(listed_names(service) == "a.gguf demo ");
    CHECK(complete_with(service, "a.gguf").status == 200);
    CHECK(complete_with(service, "demo").status == 200); // the file, not the built-in model
    CHECK(etna::parse_json(
              service.post("/tokenize", R"({"model": "demo", "prompt": "Once"})").body)["tokens"] ==
          etna::parse_json(
              service.post("/tokenize", R"({"model": "a.gguf", "prompt": "Once"})").body)["tokens"]);
    wait_for_scan();
    CHECK(listed_names(service) == "a.gguf demo ");
    CHECK(log.count("its name is not UTF-8") == 1);
    CHECK(log.count(", not the model that is built in") == 1);
}

TEST_CASE("a replaced file is loaded again; handles of the old model remain valid") {
    const test::TemporaryFolder folder;
    std::filesystem::copy_file(stories, folder.path() / "m.gguf");
    Models models({.named = {}, .folder = folder.path()},
                  [](const store::ModelSource& source, uint64_t) { return FakeService::load_plain(source); });
    const auto before = models.acquire("m").value();
    CHECK(models.acquire("m").value() == before);
    std::filesystem::remove(folder.path() / "m.gguf");
    std::filesystem::copy_file(stories, folder.path() / "m.gguf");
    wait_for_scan();
    const auto after = models.acquire("m").value();
    CHECK(after != before);
    CHECK(before->file().tokenizer.size() == after->file().tokenizer.size());
    CHECK(models.list().size() == 1);
}

TEST_CASE("a defective model file gets 500 corrupt, and the model is no longer listed") {
    for (const ErrorKind kind : {ErrorKind::not_found, ErrorKind::corrupt, ErrorKind::io}) {
        const test::LogRecorder log;
        FakeService service({.load_error = Error{kind, "the file is odd"}});
        const FakeAnswer answer = complete_with(service, "stories");
        CHECK(answer.status == 500);
        const Json error = etna::parse_json(answer.body)["error"];
        CHECK(error["type"] == "server_error");
        CHECK(error["code"] == "corrupt");
        CHECK(service.post("/tokenize", R"({"content": "a"})").status == 500);
        CHECK(is_listed_nowhere(service, "stories"));
        CHECK(log.count("a model cannot be loaded: the file is odd") == 1);
    }
}

TEST_CASE("an unsupported model gets 400, so that SDKs do not retry, and is no longer listed") {
    const test::LogRecorder log;
    FakeService service({.load_error = Error{ErrorKind::unsupported, "architecture `odd` is not supported"}});
    for (const FakeAnswer& answer :
         {complete_with(service, "stories"), service.post("/tokenize", R"({"content": "a"})"),
          service.post("/v1/responses", R"({"input": "a"})")}) {
        CAPTURE(answer.body);
        CHECK(answer.status == 400); // SDKs retry 408, 409, 429 and 5xx
        const Json error = etna::parse_json(answer.body)["error"];
        CHECK(error["type"] == "invalid_request_error");
        CHECK(error["code"] != "corrupt");
        CHECK(error["message"] == "architecture `odd` is not supported");
    }
    CHECK(is_listed_nowhere(service, "stories"));
    CHECK(log.count("architecture `odd` is not supported") == 1);
}

TEST_CASE("a model without a chat template uses chatml, with one warning") {
    const test::LogRecorder log;
    FakeService service({});
    for (int i = 0; i < 2; ++i) {
        const FakeAnswer answer = service.post(
            "/apply-template", R"({"messages": [{"role": "user", "content": "Hi"}], "model": "stories"})");
        CHECK(answer.status == 200);
        CHECK(etna::parse_json(answer.body)["prompt"].get<std::string>().ends_with(
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"));
    }
    CHECK(log.count("has no chat template: chatml is used") == 1);
}

TEST_CASE("options that conflict with a model get 500 internal, not corrupt") {
    const test::LogRecorder log;
    const std::string what = "64 KiB for keys and values hold 32 tokens, fewer than a context of 64";
    const std::string expected = "the model cannot be loaded with the options of this server: " + what;
    FakeService service(
        {.load_error = Error{ErrorKind::invalid_argument, what, "give the cache more memory"}});
    for (const FakeAnswer& answer :
         {complete_with(service, "stories"), service.post("/tokenize", R"({"content": "a"})"),
          service.post("/v1/responses", R"({"input": "a"})")}) {
        CAPTURE(answer.body);
        CHECK(answer.status == 500);
        CHECK(answer.headers.at("x-should-retry") == "false");
        const Json error = etna::parse_json(answer.body)["error"];
        CHECK(error["type"] == "server_error");
        CHECK(error["code"] == "internal");
        CHECK(error["message"] == expected);
    }
    CHECK(is_listed_nowhere(service, "stories"));
    CHECK(log.count("a model cannot be loaded: " + what + "; give the cache more memory") == 1);
}

TEST_CASE("errors for clients name the model, never its path") {
    const test::TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "hidden file.gguf";
    std::filesystem::copy_file(stories, file);
    const test::LogRecorder log;
    const std::string what = file.string() + ": it ends early; and /opt/drafts/small.gguf is gone";
    Models models(
        {.named = {{.name = "talker", .source = store::resolve(file.string(), "").value()}}, .folder = {}},
        [&](const store::ModelSource&, uint64_t) -> Result<Models::Handle> {
            return Error{ErrorKind::corrupt, what};
        });
    const std::string expected = "talker: it ends early; and small.gguf is gone";
    CHECK(models.acquire("talker").error().message == expected);
    CHECK(models.list().empty());
    CHECK(models.find("talker")->problem == expected);
    CHECK(log.count(what) == 1); // complete in the log
}

TEST_CASE("facts of inspected files are listed before the models are loaded") {
    const auto never = [](const store::ModelSource&, uint64_t) -> Result<Models::Handle> {
        return Error{ErrorKind::io, "never"};
    };
    int inspected = 0;
    Models models({.named = {{.name = "good", .source = {.name = "good", .path = "/good", .bytes = {}}},
                             {.name = "odd", .source = {.name = "odd", .path = "/dir/odd", .bytes = {}}}},
                   .folder = {}},
                  never, [&](const store::ModelSource& source) -> Result<server::ModelFacts> {
                      ++inspected;
                      if (source.name == "odd")
                          return Error{ErrorKind::unsupported, "/dir/odd is odd"};
                      return server::ModelFacts{.context_tokens = 77, .has_chat_template = false};
                  });
    CHECK(models.list()[0].facts.context_tokens == 0);
    const auto listed = models.list_inspected();
    REQUIRE(listed.size() == 1); // without the unusable one
    CHECK(listed[0].facts.context_tokens == 77);
    CHECK(!listed[0].facts.has_chat_template);
    CHECK(!listed[0].problem);
    CHECK(models.find("odd")->problem == "odd is odd");
    (void)models.list_inspected();
    CHECK(inspected == 2); // each file once
}

TEST_CASE("at most loaded_max models are in memory, and every acquire() succeeds") {
    constexpr std::size_t loaded_max = 2;
    std::mutex mutex;
    std::vector<std::weak_ptr<const generate::Model>> made;
    std::atomic<std::size_t> loading{0}, loaded_most{0};
    std::vector<server::NamedSource> named;
    for (const char* name : {"a", "b", "c", "d", "e"})
        named.push_back({.name = name, .source = store::resolve(stories.string(), "").value()});
    Models models({.named = std::move(named), .folder = {}, .loaded_max = loaded_max},
                  [&](const store::ModelSource& source, uint64_t) -> Result<Models::Handle> {
                      {
                          const std::scoped_lock lock(mutex);
                          std::erase_if(made, [](const auto& model) { return model.expired(); });
                          loaded_most = std::max(loaded_most.load(), ++loading + made.size());
                      }
                      auto model = FakeService::load_plain(source);
                      const std::scoped_lock lock(mutex);
                      --loading;
                      made.push_back(*model);
                      return model;
                  });
    std::atomic<int> failures{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 8; ++caller) {
        callers.emplace_back([&, caller] {
            for (int round = 0; round < 6; ++round) {
                const std::string name(1, static_cast<char>('a' + (caller + round * 3) % 5));
                failures += models.acquire(name) ? 0 : 1;
            }
        });
    }
    for (std::thread& caller : callers)
        caller.join();
    CHECK(failures == 0);
    CHECK(loaded_most <= loaded_max);
    std::size_t loaded = 0;
    for (const auto& listing : models.list())
        loaded += listing.is_loaded ? 1 : 0;
    CHECK(loaded <= loaded_max);
}

TEST_CASE("a queued model is loaded even if the loaded one is always in use") {
    std::vector<server::NamedSource> named;
    for (const char* name : {"a", "b"})
        named.push_back({.name = name, .source = store::resolve(stories.string(), "").value()});
    Models models({.named = std::move(named), .folder = {}, .loaded_max = 1},
                  [](const store::ModelSource& source, uint64_t) { return FakeService::load_plain(source); });
    std::atomic<bool> is_over{false};
    std::vector<std::thread> crowd; // one of them nearly always holds the model
    for (int one = 0; one < 8; ++one) {
        crowd.emplace_back([&] {
            while (!is_over) {
                const auto held = models.acquire("a");
                std::this_thread::sleep_for(30ms); // the use of a model
            }
        });
    }
    std::atomic<bool> is_served{false};
    std::thread other([&] { is_served = models.acquire("b").has_value(); });
    CHECK(test::eventually([&] { return is_served.load(); }));
    is_over = true;
    for (std::thread& one : crowd)
        one.join();
    other.join();
}

TEST_CASE("a cancelled request leaves the load queue") {
    std::vector<server::NamedSource> named;
    for (const char* name : {"a", "b", "c"})
        named.push_back({.name = name, .source = store::resolve(stories.string(), "").value()});
    Models models({.named = std::move(named), .folder = {}, .loaded_max = 1},
                  [](const store::ModelSource& source, uint64_t) { return FakeService::load_plain(source); });
    auto held = models.acquire("a").value();
    const auto begin = std::chrono::steady_clock::now();
    const auto left = models.acquire("b", [] { return true; });
    REQUIRE(!left);
    CHECK(left.error().kind == ErrorKind::cancelled);
    CHECK(std::chrono::steady_clock::now() - begin < 2s);
    held.reset();
    CHECK(models.acquire("c").has_value());
    CHECK(!models.find("b")->is_loaded);
}

TEST_CASE("the least recently used model is evicted when memory is short") {
    FakeService service({.names = {"a", "b", "c"}, .models_that_fit = 2});
    CHECK((complete_with(service, "a").status == 200 && complete_with(service, "b").status == 200 &&
           loaded_names(service) == "ab"));
    CHECK((complete_with(service, "a").status == 200 && complete_with(service, "c").status == 200));
    CHECK(loaded_names(service) == "ac"); // b was used before a
    CHECK((complete_with(service, "b").status == 200 && loaded_names(service) == "bc"));
}

TEST_CASE("a busy model is not evicted, and a request for another gets 503") {
    FakeService service({.names = {"a", "b"},
                         .models_that_fit = 1,
                         .prepare = [](test::FakeOptions& fake, int) { fake.step_delay = 1ms; }});
    const auto running = [&](int count) { // the engine updates it after the step
        return test::eventually([&] {
            const std::string line = "etna_requests_running{model=\"a\"} " + std::to_string(count) + "\n";
            return service.get("/metrics").body.find(line) != std::string::npos;
        });
    };
    REQUIRE(complete_with(service, "a").status == 200);
    REQUIRE(running(0));
    int status = 0;
    std::thread busy([&] { status = complete_with(service, "a", 400).status; });
    CHECK(running(1));
    CHECK(complete_with(service, "b").status == 503);
    busy.join();
    CHECK(status == 200);
    CHECK((complete_with(service, "b").status == 200 && loaded_names(service) == "b"));
}

TEST_CASE("idle models are unloaded before a model is placed in host memory") {
    std::mutex mutex;
    std::vector<std::weak_ptr<const generate::Model>> on_device;
    std::string loads; // "D" where everything had to fit on the device, and the model's name
    const auto loader = [&](std::string_view place) {
        return [&, place](const store::ModelSource& source, uint64_t) -> Result<Models::Handle> {
            const std::scoped_lock lock(mutex);
            loads += std::string(place) + source.name + " ";
            std::erase_if(on_device, [](const auto& model) { return model.expired(); });
            if (on_device.size() == 2 && place == "D")
                return Error{ErrorKind::out_of_memory, "no memory is left for the model"};
            auto model = FakeService::load_plain(store::resolve(stories.string(), "").value());
            if (on_device.size() < 2) // else it would run from host memory
                on_device.push_back(*model);
            return model;
        };
    };
    std::vector<server::NamedSource> named;
    for (const char* name : {"a", "b", "c"})
        named.push_back({.name = name, .source = {.name = name, .path = stories, .bytes = {}}});
    Models models({.named = std::move(named), .folder = {}, .device_loader = loader("D")}, loader(""));
    auto a = models.acquire("a").value();
    CHECK(models.acquire("b").has_value());
    CHECK(loads == "a b "); // no idle model could make room

    CHECK(models.acquire("c").has_value());
    CHECK(loads == "a b Dc c "); // b was idle, and no other is now
    CHECK(!models.find("b")->is_loaded);
    CHECK(models.find("a")->is_loaded);
    CHECK(on_device.size() == 2);

    auto c = models.acquire("c").value();
    CHECK(models.acquire("b").has_value());
    CHECK(loads == "a b Dc c b "); // both are in use: it runs from host memory
    CHECK(models.find("b")->is_loaded);
    a.reset();
    CHECK(models.unload("b").value() == server::Unloading::done);
    CHECK(models.acquire("b").has_value());
    CHECK(loads == "a b Dc c b Db b ");
    CHECK(!models.find("a")->is_loaded);
    CHECK(models.find("c")->is_loaded);
}

namespace {

/// Models of FakeService::model_bytes each, if they are allowed as many.
Models models_of(std::vector<std::string> names, Models::Options options) {
    for (std::string& name : names)
        options.named.push_back({.name = name, .source = store::resolve(stories.string(), "").value()});
    return Models(std::move(options), [](const store::ModelSource& source, uint64_t bytes_max) {
        return bytes_max < FakeService::model_bytes
                   ? Error{ErrorKind::out_of_memory, "no memory is left for the model"}
                   : FakeService::load_plain(source);
    });
}

std::string loaded_in(Models& models) {
    std::string names;
    for (const auto& listing : models.list())
        names += listing.is_loaded ? listing.name : "";
    return names;
}

} // namespace

TEST_CASE("models leave memory by bytes, least recently used first, never a busy or pinned one") {
    Models models = models_of({"a", "b", "c", "d"},
                              {.memory_bytes_max = 3 * FakeService::model_bytes + 500, .pinned = {"b"}});
    auto a = models.acquire("a").value();
    CHECK(models.acquire("b").has_value());
    CHECK(models.acquire("c").has_value());
    CHECK(loaded_in(models) == "abc");
    CHECK(models.acquire("d").has_value()); // a is busy, b pinned
    CHECK(loaded_in(models) == "abd");
    a.reset();
    const auto d = models.acquire("d").value();
    CHECK(models.acquire("c").has_value());
    CHECK(loaded_in(models) == "bcd");
    const auto c = models.acquire("c").value();
    const auto refused = models.acquire("a");
    REQUIRE(!refused);
    CHECK(refused.error().kind == ErrorKind::out_of_memory);
    CHECK(loaded_in(models) == "bcd");
    CHECK(models.find("b")->is_pinned);
    CHECK(!models.find("c")->is_pinned);
}

TEST_CASE("the memory of a model that ended requests still hold counts") {
    Models models = models_of({"a", "b"}, {.memory_bytes_max = FakeService::model_bytes});
    auto a = models.acquire("a").value();
    CHECK(models.unload("a").value() == server::Unloading::after_requests);
    CHECK(models.acquire("b").error().kind == ErrorKind::out_of_memory);
    a.reset();
    CHECK(models.acquire("b").has_value());
}

TEST_CASE(
    "many threads never hold more than memory_bytes_max, and every acquire() of an idle list succeeds") {
    constexpr uint64_t models_max = 2;
    Models models = models_of({"a", "b", "c", "d", "e"},
                              {.memory_bytes_max = models_max * FakeService::model_bytes, .idle_max = 20ms});
    std::atomic<int> others{0}, excesses{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 6; ++caller) {
        callers.emplace_back([&, caller] {
            for (int round = 0; round < 20; ++round) {
                const auto model =
                    models.acquire(std::string(1, static_cast<char>('a' + (caller + round) % 5)));
                others += !model && model.error().kind != ErrorKind::out_of_memory ? 1 : 0;
                excesses += loaded_in(models).size() > models_max ? 1 : 0;
            }
        });
    }
    for (std::thread& caller : callers)
        caller.join();
    CHECK(others == 0);
    CHECK(excesses == 0);
    CHECK(test::eventually([&] { return loaded_in(models).empty(); }));
    CHECK(models.acquire("a").has_value());
}

TEST_CASE("a model that is idle for idle_max is unloaded, unless it is pinned, and loaded again on use") {
    Models models = models_of({"a", "b"}, {.pinned = {"b"}, .idle_max = 60ms});
    auto busy = models.acquire("a").value();
    const std::weak_ptr<const generate::Model> first = busy;
    CHECK(models.acquire("b").has_value());
    CHECK(models.find("a")->unloads_in == 60ms);
    CHECK(!models.find("b")->unloads_in);
    std::this_thread::sleep_for(150ms); // for an unload that must not happen
    CHECK(models.find("a")->is_loaded);
    const auto released = std::chrono::steady_clock::now();
    busy.reset();
    CHECK(test::eventually([&] { return first.expired(); }));
    CHECK(std::chrono::steady_clock::now() - released >= 50ms);
    CHECK(test::eventually([&] { return loaded_in(models) == "b"; }));
    CHECK(models.acquire("a").has_value());
}

TEST_CASE("idle_max of a loaded model can be replaced until it is unloaded") {
    Models models = models_of({"a", "b"}, {});
    CHECK(models.set_idle_max("c", 1ms).error().kind == ErrorKind::not_found);
    CHECK(models.acquire("a").has_value());
    CHECK(models.acquire("b").has_value());
    CHECK(!models.find("a")->unloads_in);
    CHECK(models.set_idle_max("a", 10ms));
    CHECK(test::eventually([&] { return loaded_in(models) == "b"; }));
    CHECK(models.acquire("a").has_value());
    CHECK(!models.find("a")->unloads_in); // the list's again
    CHECK(models.set_idle_max("a", 1h));
    CHECK(models.find("a")->unloads_in > 59min);
    CHECK(models.set_idle_max("a", std::nullopt));
    CHECK(!models.find("a")->unloads_in);
}

TEST_CASE("an unloaded model frees its memory when its requests have ended, and is loaded again") {
    Models models(
        {.named = {{.name = "a", .source = store::resolve(stories.string(), "").value()}}, .folder = {}},
        [](const store::ModelSource& source, uint64_t) { return FakeService::load_plain(source); });
    CHECK(models.unload("a").value() == server::Unloading::not_loaded);
    CHECK(models.unload("b").error().kind == ErrorKind::not_found);
    auto held = models.acquire("a").value();
    const std::weak_ptr<const generate::Model> first = held;
    CHECK(models.unload("A.gguf").value() == server::Unloading::after_requests);
    CHECK(models.find("a")->is_loaded);
    CHECK(models.find("a")->unloads_in == 0ms);
    CHECK(!first.expired());
    held.reset();
    CHECK(first.expired());
    CHECK(!models.find("a")->is_loaded);
    const std::weak_ptr<const generate::Model> second = models.acquire("a").value();
    CHECK(models.unload("a").value() == server::Unloading::done);
    CHECK(second.expired());
}

TEST_CASE("a model that is to be unloaded serves further requests until the last one ends") {
    Models models = models_of({"a", "b"}, {.loaded_max = 1});
    auto first = models.acquire("a").value();
    CHECK(models.unload("a").value() == server::Unloading::after_requests);
    auto second = models.acquire("a").value();
    CHECK(second == first);
    CHECK(models.find_loaded("a") == first);
    CHECK(models.unload("a").value() == server::Unloading::after_requests);
    first.reset();
    CHECK(loaded_in(models) == "a");
    second.reset();
    CHECK(loaded_in(models).empty());
    CHECK(models.unload("a").value() == server::Unloading::not_loaded);
    CHECK(models.acquire("b").has_value());
    CHECK(loaded_in(models) == "b");
}

TEST_CASE("a model that is to be unloaded stays when a request sets how long") {
    Models models = models_of({"a"}, {.loaded_max = 1});
    auto held = models.acquire("a").value();
    CHECK(models.unload("a").value() == server::Unloading::after_requests);
    CHECK(models.set_idle_max("a", 1h));
    const std::weak_ptr<const generate::Model> model = held;
    held.reset();
    CHECK(!model.expired());
    CHECK(models.acquire("a").value() == model.lock());
    models.discard(model.lock());
    CHECK(loaded_in(models).empty());
}

TEST_CASE("a model cannot be unloaded while it is being loaded") {
    std::atomic<bool> may_end{false};
    Models models(
        {.named = {{.name = "a", .source = store::resolve(stories.string(), "").value()}}, .folder = {}},
        [&](const store::ModelSource& source, uint64_t) {
            test::eventually([&] { return may_end.load(); });
            return FakeService::load_plain(source);
        });
    bool is_loaded = false;
    std::thread loader([&] { is_loaded = models.acquire("a").has_value(); });
    CHECK(test::eventually([&] { return models.find("a")->is_loading; }));
    CHECK(models.unload("a").error().kind == ErrorKind::busy);
    may_end = true;
    loader.join();
    CHECK(is_loaded);
    CHECK(models.unload("a").value() == server::Unloading::done);
}

TEST_CASE("POST /models/unload reports the effect, and GET /v1/models the memory and load of a model") {
    FakeService service({});
    CHECK(complete_with(service, "stories").status == 200);
    const Json held = etna::parse_json(service.get("/v1/models/stories").body)["etna"];
    CHECK(held["device"] == "fake");
    CHECK(held["requests_running"] == 0);
    for (const bool was_loaded : {true, false}) {
        const FakeAnswer answer = service.post("/models/unload", R"({"model": "stories"})");
        CHECK(answer.status == 200);
        const Json json = etna::parse_json(answer.body);
        CHECK(json["success"] == true);
        CHECK(json["was_loaded"] == was_loaded);
        CHECK(json["waits_for_requests"] == false);
    }
    CHECK(etna::parse_json(service.get("/v1/models/stories").body)["etna"].is_null());
    CHECK(service.post("/models/unload", R"({"model": "other"})").status == 404);
    CHECK(service.post("/models/unload", "{}").status == 400);
    CHECK(service.post("/models/unload", R"({"model": 1})").status == 400);
}

namespace {

/// Finds "MODEL" and "file:MODEL" without asking anything; the second in the file of the stories.
Result<store::ModelSource> find_any(std::string_view name) {
    if (name == "missing")
        return Error{ErrorKind::not_found, "no such model"};
    store::ModelSource source{.name = std::string(name), .path = {}, .bytes = {}};
    if (name.starts_with("file:"))
        source.path = stories;
    return source;
}

} // namespace

TEST_CASE("a request adds a model that the finder finds; without a finder none") {
    const auto load = [](const store::ModelSource&, uint64_t) {
        return FakeService::load_plain(store::resolve(stories.string(), "").value());
    };
    Models closed({.named = {}, .folder = {}}, load);
    CHECK(closed.find_or_add("any").error().kind == ErrorKind::not_found);
    Models models({.named = {}, .folder = {}, .finder = find_any}, load);
    CHECK(!models.find("any"));
    CHECK(models.find_or_add("missing").error().kind == ErrorKind::not_found);
    CHECK(models.find_or_add("any")->name == "any");
    CHECK(models.acquire("any").has_value());
    CHECK(models.find_or_add("file:one")->name == "file:one");
    CHECK(models.find_or_add("file:two")->name == "file:one"); // the same file
    wait_for_scan();
    CHECK(models.list().size() == 2);
    CHECK(models.find("any")->is_loaded);
}

TEST_CASE(
    "a requested model that cannot be loaded is removed from the list, and its error has the same kind") {
    const test::LogRecorder log;
    for (const ErrorKind kind : {ErrorKind::not_found, ErrorKind::io, ErrorKind::invalid_argument}) {
        Models models({.named = {}, .folder = {}, .finder = find_any},
                      [&](const store::ModelSource&, uint64_t) -> Result<Models::Handle> {
                          return Error{kind, "hf.co/u/r in /tmp/models: it is odd"};
                      });
        for (int attempt = 0; attempt < 2; ++attempt) {
            CHECK(models.find_or_add("any").has_value());
            const auto failed = models.acquire("any");
            REQUIRE(!failed);
            CHECK(failed.error().kind == kind);
            CHECK(failed.error().message == "any: hf.co/u/r in models: it is odd");
            CHECK(!models.find("any"));
        }
    }
}

TEST_CASE("a requested model whose load failed for another request is loaded again with its own error") {
    bool is_broken = true;
    Models models({.named = {}, .folder = {}, .finder = find_any},
                  [&](const store::ModelSource&, uint64_t) -> Result<Models::Handle> {
                      if (is_broken)
                          return Error{ErrorKind::out_of_memory, "any needs 5 GiB"};
                      return FakeService::load_plain(store::resolve(stories.string(), "").value());
                  });
    REQUIRE(models.find_or_add("any").has_value());
    CHECK(models.acquire("any").error().kind == ErrorKind::out_of_memory); // removes it from the list
    REQUIRE(!models.find("any"));
    const auto second = models.acquire("any"); // whose find_or_add() came before
    REQUIRE(!second);
    CHECK(second.error().kind == ErrorKind::out_of_memory);
    CHECK(second.error().message == "any needs 5 GiB");
    is_broken = false;
    CHECK(models.acquire("any").has_value());
    CHECK(models.find("any")->is_loaded);
    CHECK(models.acquire("missing").error().kind == ErrorKind::not_found);
}

TEST_CASE("at most requested_max requested models are listed: unloaded ones are evicted first") {
    Models models({.named = {}, .folder = {}, .finder = find_any}, [](const store::ModelSource&, uint64_t) {
        return FakeService::load_plain(store::resolve(stories.string(), "").value());
    });
    for (std::size_t i = 0; i <= Models::requested_max; ++i) {
        CHECK(models.find_or_add(std::to_string(i)).has_value());
        if (i == 0)
            CHECK(models.acquire("0").has_value());
    }
    CHECK(models.list().size() == Models::requested_max);
    CHECK(models.find("0")->is_loaded);
    CHECK(!models.find("1"));
    CHECK(models.find("2"));
}

// Models whose files come, go, are replaced or broken, and the places that there are for them.
#include "core/base/log.hpp"
#include "server/models/models.hpp"
#include "tests/server/echo.hpp"
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include <unistd.h>

using namespace etna;
using server::Json;
using server::Models;
using test::FakeAnswer;
using test::FakeService;
using namespace std::chrono_literals;

namespace {

const std::filesystem::path stories = ETNA_TEST_DATA "/models/stories260K.gguf";

/// A folder that is empty, and goes with the object.
class TemporaryFolder {
public:
    explicit TemporaryFolder(const std::string& name)
        : path(std::filesystem::temp_directory_path() / ("etna-" + name + "-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(path);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() { std::filesystem::remove_all(path); }

    const std::filesystem::path path;
};

/// What the core says meanwhile.
class Log {
public:
    Log() {
        set_log_sink([this](LogLevel, std::string_view line) { lines_.emplace_back(line); });
    }
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;
    ~Log() { set_log_sink({}); }

    [[nodiscard]] int count(std::string_view part) const {
        return static_cast<int>(std::count_if(lines_.begin(), lines_.end(), [&](const std::string& line) {
            return line.find(part) != std::string::npos;
        }));
    }

private:
    std::vector<std::string> lines_;
};

std::string names(FakeService& service) {
    const Json listed = etna::parse_json(service.get("/v1/models").body);
    std::string names;
    for (const Json& model : listed["data"])
        names += model["id"].get<std::string>() + " ";
    return names;
}

bool is_listed_nowhere(FakeService& service, const std::string& model) {
    return names(service).empty() && service.get("/v1/models/" + model).status == 404 &&
           etna::parse_json(service.get("/dynamo/alpha/list-models").body)["data"].empty();
}

FakeAnswer ask(FakeService& service, const std::string& model, int tokens = 1) {
    return service.post("/v1/completions", R"({"prompt": "Once", "ignore_eos": true, "model": ")" + model +
                                               R"(", "max_tokens": )" + std::to_string(tokens) + "}");
}

void wait_for_look() {
    std::this_thread::sleep_for(1100ms);
}

} // namespace

TEST_CASE("a file is served under its own name, whatever the name looks like") {
    const Log log;
    const TemporaryFolder folder("models-names");
    for (const char* name : {"demo.gguf", "a.gguf.gguf", "b\xff.gguf"})
        std::filesystem::copy_file(stories, folder.path / name);
    FakeService service({.names = {}, .folder = folder.path});
    CHECK(names(service) == "a.gguf demo ");
    CHECK(ask(service, "a.gguf").status == 200);
    CHECK(ask(service, "demo").status == 200); // which is no model of 2048 tokens, as the built-in one is
    CHECK(etna::parse_json(
              service.post("/tokenize", R"({"model": "demo", "prompt": "Once"})").body)["tokens"] ==
          etna::parse_json(
              service.post("/tokenize", R"({"model": "a.gguf", "prompt": "Once"})").body)["tokens"]);
    wait_for_look();
    CHECK(names(service) == "a.gguf demo ");
    CHECK(log.count("its name is no UTF-8") == 1);
    CHECK(log.count("and not the model that is built in") == 1);
}

TEST_CASE("a file that is replaced under its name is loaded anew, and who holds the old one keeps it") {
    const TemporaryFolder folder("models-replaced");
    std::filesystem::copy_file(stories, folder.path / "m.gguf");
    Models models({.named = {}, .folder = folder.path},
                  [](const store::ModelSource& source) { return FakeService::load_plain(source); });
    const auto before = models.acquire("m").value();
    CHECK(models.acquire("m").value() == before);
    std::filesystem::remove(folder.path / "m.gguf");
    std::filesystem::copy_file(stories, folder.path / "m.gguf");
    wait_for_look();
    const auto after = models.acquire("m").value();
    CHECK(after != before);
    CHECK(before->tokenizer().size() == after->tokenizer().size());
    CHECK(models.list().size() == 1);
}

TEST_CASE("whatever is wrong with a model's file is a failure of the server's, and is not offered any more") {
    for (const ErrorKind kind : {ErrorKind::not_found, ErrorKind::corrupt, ErrorKind::io}) {
        const Log log;
        FakeService service({.load_error = Error{kind, "the file is odd"}});
        const FakeAnswer answer = ask(service, "stories");
        CHECK(answer.status == 500);
        const Json error = etna::parse_json(answer.body)["error"];
        CHECK(error["type"] == "server_error");
        CHECK(error["code"] == "corrupt");
        CHECK(service.post("/tokenize", R"({"content": "a"})").status == 500);
        CHECK(is_listed_nowhere(service, "stories"));
        CHECK(log.count("a model cannot be loaded: the file is odd") == 1);
    }
}

TEST_CASE("a model that etna cannot run is nothing to ask again for, and is not offered any more") {
    const Log log;
    FakeService service({.load_error = Error{ErrorKind::unsupported, "architecture `odd` is not supported"}});
    for (const FakeAnswer& answer :
         {ask(service, "stories"), service.post("/tokenize", R"({"content": "a"})"),
          service.post("/v1/responses", R"({"input": "a"})")}) {
        CAPTURE(answer.body);
        CHECK(answer.status == 400); // SDKs ask again after 408, 409, 429 and from 500 on
        const Json error = etna::parse_json(answer.body)["error"];
        CHECK(error["type"] == "invalid_request_error");
        CHECK(error["code"] != "corrupt");
        CHECK(error["message"] == "architecture `odd` is not supported");
    }
    CHECK(is_listed_nowhere(service, "stories"));
    CHECK(log.count("architecture `odd` is not supported") == 1);
}

TEST_CASE("a model without a chat template is talked to as with chatml, and that is told once") {
    const Log log;
    FakeService service({});
    for (int i = 0; i < 2; ++i) {
        const FakeAnswer answer = service.post(
            "/apply-template", R"({"messages": [{"role": "user", "content": "Hi"}], "model": "stories"})");
        CHECK(answer.status == 200);
        CHECK(etna::parse_json(answer.body)["prompt"].get<std::string>().ends_with(
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"));
    }
    CHECK(log.count("has no chat template: chatml stands in") == 1);
}

TEST_CASE(
    "options that a model cannot be loaded with are a failure of the server's, and nothing is damaged") {
    const Log log;
    const std::string what = "64 KiB for keys and values hold 32 tokens, fewer than a context of 64";
    const std::string told = "the model cannot be loaded with the options of this server: " + what;
    FakeService service(
        {.load_error = Error{ErrorKind::invalid_argument, what, "give the cache more memory"}});
    for (const FakeAnswer& answer :
         {ask(service, "stories"), service.post("/tokenize", R"({"content": "a"})"),
          service.post("/v1/responses", R"({"input": "a"})")}) {
        CAPTURE(answer.body);
        CHECK(answer.status == 500);
        CHECK(answer.headers.at("x-should-retry") == "false");
        const Json error = etna::parse_json(answer.body)["error"];
        CHECK(error["type"] == "server_error");
        CHECK(error["code"] == "internal");
        CHECK(error["message"] == told);
    }
    CHECK(is_listed_nowhere(service, "stories"));
    CHECK(log.count("a model cannot be loaded: " + what + "; give the cache more memory") == 1);
}

TEST_CASE("a client is told the model's name, and not where its file lies or what it is called there") {
    const TemporaryFolder folder("models-told");
    const std::filesystem::path file = folder.path / "hidden file.gguf";
    std::filesystem::copy_file(stories, file);
    const Log log;
    const std::string what = file.string() + ": it ends early; and /opt/drafts/small.gguf is gone";
    Models models(
        {.named = {{.name = "talker", .source = store::resolve(file.string(), "").value()}}, .folder = {}},
        [&](const store::ModelSource&) -> Result<Models::Handle> { return Error{ErrorKind::corrupt, what}; });
    const std::string told = "talker: it ends early; and small.gguf is gone";
    CHECK(models.acquire("talker").error().message == told);
    CHECK(models.list().empty());
    CHECK(models.find("talker")->problem == told);
    CHECK(log.count(what) == 1); // whole for who runs the server
}

TEST_CASE("what a file tells is listed before its model is loaded") {
    const auto never = [](const store::ModelSource&) -> Result<Models::Handle> {
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
    REQUIRE(listed.size() == 1); // without the one that cannot be used
    CHECK(listed[0].facts.context_tokens == 77);
    CHECK(!listed[0].facts.has_chat_template);
    CHECK(!listed[0].problem);
    CHECK(models.find("odd")->problem == "odd is odd");
    (void)models.list_inspected();
    CHECK(inspected == 2); // each file once
}

TEST_CASE("no more models are in memory than there are places for, and everybody gets an answer") {
    constexpr std::size_t places = 2;
    std::mutex mutex;
    std::vector<std::weak_ptr<const generate::Model>> made;
    std::atomic<std::size_t> loading{0}, most{0};
    std::vector<server::NamedSource> named;
    for (const char* name : {"a", "b", "c", "d", "e"})
        named.push_back({.name = name, .source = store::resolve(stories.string(), "").value()});
    Models models({.named = std::move(named), .folder = {}, .loaded_max = places},
                  [&](const store::ModelSource& source) -> Result<Models::Handle> {
                      {
                          const std::scoped_lock lock(mutex);
                          std::erase_if(made, [](const auto& model) { return model.expired(); });
                          most = std::max(most.load(), ++loading + made.size());
                      }
                      auto model = FakeService::load_plain(source);
                      const std::scoped_lock lock(mutex);
                      --loading;
                      made.push_back(*model);
                      return model;
                  });
    std::atomic<int> failures{0};
    std::vector<std::thread> askers;
    for (int asker = 0; asker < 8; ++asker) {
        askers.emplace_back([&, asker] {
            for (int round = 0; round < 6; ++round) {
                const std::string name(1, static_cast<char>('a' + (asker + round * 3) % 5));
                failures += models.acquire(name) ? 0 : 1;
            }
        });
    }
    for (std::thread& asker : askers)
        asker.join();
    CHECK(failures == 0);
    CHECK(most <= places);
    std::size_t loaded = 0;
    for (const auto& listing : models.list())
        loaded += listing.is_loaded ? 1 : 0;
    CHECK(loaded <= places);
}

TEST_CASE("a model that waits for a place gets it, however often the one in it is asked for") {
    std::vector<server::NamedSource> named;
    for (const char* name : {"a", "b"})
        named.push_back({.name = name, .source = store::resolve(stories.string(), "").value()});
    Models models({.named = std::move(named), .folder = {}, .loaded_max = 1},
                  [](const store::ModelSource& source) { return FakeService::load_plain(source); });
    std::atomic<bool> is_over{false};
    std::vector<std::thread> crowd; // of which somebody nearly always holds the model
    for (int one = 0; one < 8; ++one) {
        crowd.emplace_back([&] {
            while (!is_over) {
                const auto held = models.acquire("a");
                std::this_thread::sleep_for(30ms);
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

TEST_CASE("who waits for a place and is not wanted any more leaves the line") {
    std::vector<server::NamedSource> named;
    for (const char* name : {"a", "b", "c"})
        named.push_back({.name = name, .source = store::resolve(stories.string(), "").value()});
    Models models({.named = std::move(named), .folder = {}, .loaded_max = 1},
                  [](const store::ModelSource& source) { return FakeService::load_plain(source); });
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

// Server start, drain and shutdown, over a real socket, with models that fail to load or load slowly.

#include "server/app/server.hpp"
#include "tests/server/echo.hpp"
#include "tests/server/raw_client.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/log_recorder.hpp"

#include <atomic>
#include <thread>

using namespace etna;
using namespace etna::server;
using namespace std::chrono_literals;
using etna::test::contains;
using etna::test::eventually;
using etna::test::RawClient;

namespace {

Models::Options one_model() {
    return {
        .named = {{.name = "m", .source = {.name = "m", .path = "/secret folder/here/m.gguf", .bytes = {}}}},
        .folder = {}};
}

std::string http_post(std::string_view body) {
    return "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " +
           std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

/// A server that runs until stop() or destruction.
class Running {
public:
    explicit Running(Models::Loader loader) : models_(one_model(), std::move(loader)) {
        auto opened = Server::open({.connection = {}, .service = {}, .drain_timeout = 200ms}, models_,
                                   [](std::string_view) {});
        REQUIRE(opened.has_value());
        server_ = std::move(*opened);
        thread_ = std::thread([this] { end_ = server_->run([this] { return should_stop_.load(); }); });
    }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    ~Running() { stop(); }

    [[nodiscard]] int port() const { return server_->port(); }

    ShutdownResult stop() {
        should_stop_ = true;
        if (thread_.joinable())
            thread_.join();
        return end_;
    }

private:
    Models models_;
    std::unique_ptr<Server> server_;
    std::atomic<bool> should_stop_{false};
    ShutdownResult end_ = ShutdownResult::clean;
    std::thread thread_;
};

} // namespace

TEST_CASE("run() returns within seconds of the drain timeout, even while a model loads") {
    std::atomic<bool> is_loading{false}, may_end{false};
    Running running([&](const store::ModelSource&, uint64_t) {
        is_loading = true;
        (void)eventually([&] { return may_end.load(); });
        return Error{ErrorKind::io, "ended by the test"};
    });
    RawClient client(running.port());
    client.send(http_post(R"({"prompt": "a"})"));
    REQUIRE(eventually([&] { return is_loading.load(); }));
    const auto begin = std::chrono::steady_clock::now();
    CHECK(running.stop() == ShutdownResult::abandoned);
    CHECK(std::chrono::steady_clock::now() - begin < 10s);
    CHECK(contains(client.read_all(), "HTTP/1.1 503 "));
    may_end = true;
}

TEST_CASE("an idle server shuts down cleanly and closes its connections") {
    Running running([](const store::ModelSource&, uint64_t) { return Error{ErrorKind::io, "none"}; });
    RawClient client(running.port());
    client.send("GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n");
    CHECK(contains(client.read_until("}"), "200 OK"));
    CHECK(running.stop() == ShutdownResult::clean);
    CHECK(client.is_closed(5s));
}

TEST_CASE("a request refused before routing has its x-request-id in the response and the log") {
    test::LineRecorder lines;
    Models models(one_model(),
                  [](const store::ModelSource&, uint64_t) { return Error{ErrorKind::io, "none"}; });
    ServerOptions options = {.connection = {}, .service = {}, .drain_timeout = 200ms};
    options.service.log_format = LogFormat::json;
    auto server = Server::open(options, models, lines.sink());
    REQUIRE(server.has_value());
    std::atomic<bool> should_stop{false};
    std::thread thread([&] { (void)(*server)->run([&] { return should_stop.load(); }); });
    RawClient client((*server)->port());
    client.send("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: my-own\r\n"
                "Content-Length: 99999999\r\n\r\n");
    const std::string answer = client.read_all();
    RawClient metrics_client((*server)->port());
    metrics_client.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    const std::string metrics = metrics_client.read_all();
    should_stop = true;
    thread.join();
    CHECK(contains(answer, "HTTP/1.1 413 "));
    CHECK(contains(answer, "x-request-id: my-own\r\n"));
    CHECK(contains(metrics, R"(etna_requests_total{model="",endpoint="",stream="false",status="413"} 1)"));
    REQUIRE(!lines.all().empty());
    for (const char* part : {R"("method":"POST")", R"("path":"/v1/completions")", R"("status":413)",
                             R"("request_id":"my-own")", R"("remote_address":"127.0.0.1)"})
        CHECK(contains(lines.all().front(), part));
}

TEST_CASE("errors for clients contain no paths of models") {
    for (const ErrorKind kind :
         {ErrorKind::io, ErrorKind::corrupt, ErrorKind::not_found, ErrorKind::unsupported}) {
        Running running([&](const store::ModelSource& source, uint64_t) {
            return Error{kind, source.path.string() + ": bad; see " + source.path.parent_path().string() +
                                   "/config.json"};
        });
        RawClient client(running.port());
        client.send(http_post(R"({"prompt": "a"})"));
        const std::string text = client.read_all();
        CAPTURE(text);
        CHECK(contains(text, "\"m: bad; see config.json\""));
        CHECK(!contains(text, "secret"));
    }
}

TEST_CASE("while the server prepares, /health says that it loads, and requests get 503 with Retry-After") {
    Models models(one_model(),
                  [](const store::ModelSource&, uint64_t) { return Error{ErrorKind::io, "none"}; });
    auto server = Server::open({.connection = {}, .service = {}, .drain_timeout = 200ms}, models,
                               [](std::string_view) {});
    REQUIRE(server.has_value());
    std::atomic<bool> should_stop{false}, may_end{false}, is_ready{false};
    const StartUp start_up = {.prepare =
                                  [&] {
                                      (void)eventually([&] { return may_end.load(); });
                                      return true;
                                  },
                              .on_ready = [&] { return is_ready = true, true; }};
    ShutdownResult end = ShutdownResult::abandoned;
    std::thread thread([&] { end = (*server)->run([&] { return should_stop.load(); }, start_up); });
    const auto ask = [&](const std::string& request) {
        RawClient client((*server)->port());
        client.send(request);
        return client.read_all();
    };
    const std::string health = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    const std::string loading = ask(health);
    CHECK(contains(loading, "HTTP/1.1 503 "));
    CHECK(contains(loading, R"("status":"loading model")"));
    CHECK(contains(loading, R"("message":"Loading model","type":"unavailable_error")"));
    const std::string refused = ask(http_post(R"({"prompt": "a"})"));
    CHECK(contains(refused, "HTTP/1.1 503 "));
    CHECK(contains(refused, "Loading model"));
    CHECK(contains(refused, "retry-after: "));
    CHECK(contains(ask("GET /live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"), "200 OK"));
    CHECK(!is_ready);
    may_end = true;
    CHECK(eventually([&] { return is_ready.load(); }));
    CHECK(contains(ask(health), "200 OK"));
    should_stop = true;
    thread.join();
    CHECK(end == ShutdownResult::clean);
}

TEST_CASE("a server whose preparation fails, or that is stopped during it, ends") {
    for (const bool is_stopped : {false, true}) {
        Models models(one_model(),
                      [](const store::ModelSource&, uint64_t) { return Error{ErrorKind::io, "none"}; });
        auto server = Server::open({.connection = {}, .service = {}, .drain_timeout = 200ms}, models,
                                   [](std::string_view) {});
        REQUIRE(server.has_value());
        bool was_ready = false;
        const auto end =
            (*server)->run([&] { return is_stopped; },
                           {.prepare = [] { return false; }, .on_ready = [&] { return was_ready = true; }});
        CHECK(end == (is_stopped ? ShutdownResult::clean : ShutdownResult::not_started));
        CHECK(!was_ready);
    }
}

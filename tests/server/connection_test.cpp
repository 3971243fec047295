// Connections as peers misuse them, on a real socket: the handlers are the test's own.

#include "server/connection.hpp"
#include "tests/server/raw_client.hpp"
#include "tests/support/catch.hpp"

#include <atomic>
#include <thread>
#include <vector>

using namespace etna;
using namespace etna::server;
using namespace std::chrono_literals;
using test::RawClient;

namespace {

constexpr std::size_t body_bytes_max = 1000;

/// A server that answers POST with the body, GET /stream with pieces, GET /flood with more than fits
/// anywhere, GET /wait when it may, and the rest with the path.
class Echo {
public:
    explicit Echo(ConnectionOptions options = {}) {
        ConnectionHandlers handlers = {
            .body_bytes_max = [](const HttpRequest&) { return body_bytes_max; },
            .answer = [this](const HttpRequest& request) { return answer(request); },
            .refuse =
                [](int status, std::string_view problem) {
                    return HttpReply{.status = status,
                                     .content_type = "text/plain",
                                     .body = "refused: " + std::string(problem)};
                }};
        auto opened = Listener::open(options, std::move(handlers));
        REQUIRE(opened.has_value());
        listener_ = std::move(*opened);
        thread_ = std::thread([this] { listener_->run(); });
    }
    Echo(const Echo&) = delete;
    Echo& operator=(const Echo&) = delete;
    ~Echo() {
        may_go_on = true;
        listener_->stop();
        thread_.join();
    }

    [[nodiscard]] RawClient client() const { return RawClient(listener_->port()); }
    [[nodiscard]] Listener& listener() const { return *listener_; }

    std::atomic<bool> may_go_on{false};
    std::atomic<int> waiting{0};
    std::atomic<int> seen_gone{0};

private:
    HttpReply answer(const HttpRequest& request) {
        if (request.path == "/throw")
            throw std::runtime_error("on purpose");
        if (request.path == "/flood")
            return {.content_type = "text/plain", .stream = [this](HttpWriter& writer) { flood(writer); }};
        if (request.path == "/stream")
            return {.content_type = "text/plain", .stream = [this](HttpWriter& writer) { stream(writer); }};
        if (request.path == "/wait") {
            ++waiting;
            while (!may_go_on && !request.is_client_gone())
                std::this_thread::sleep_for(1ms);
            seen_gone += request.is_client_gone() ? 1 : 0;
        }
        return {.content_type = "text/plain",
                .body = request.method + " " + request.path + " " + request.body};
    }

    void flood(HttpWriter& writer) {
        const std::string piece(1'000'000, 'x');
        while (!may_go_on && writer.write(piece)) {
        }
        ++seen_gone;
    }

    void stream(HttpWriter& writer) {
        bool goes_on = writer.write("one ");
        ++waiting;
        while (goes_on && !may_go_on) {
            std::this_thread::sleep_for(1ms);
            goes_on = writer.write(".");
        }
        seen_gone += goes_on ? 0 : 1;
        writer.write("two");
    }

    std::unique_ptr<Listener> listener_;
    std::thread thread_;
};

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds limit = 20s) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition() && std::chrono::steady_clock::now() < end)
        std::this_thread::sleep_for(1ms);
    return condition();
}

} // namespace

TEST_CASE("requests follow one another on a connection, in pieces or all at once") {
    const Echo echo;
    RawClient client = echo.client();
    client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("GET /a "), "HTTP/1.1 200 OK\r\n"));
    client.send("\r\nPOST /b HTTP/1.1\r\nHo");
    std::this_thread::sleep_for(20ms);
    client.send("st: x\r\nContent-Length: 5\r\n\r\nhe");
    std::this_thread::sleep_for(20ms);
    client.send("llo");
    CHECK(contains(client.read_until("POST /b hello"), "POST /b hello"));
    client.send("POST /c HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhiGET /d HTTP/1.1\r\nHost: x\r\n\r\n"
                "GET /e HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const std::string rest = client.read_all();
    CHECK(contains(rest, "POST /c hi"));
    CHECK(contains(rest, "GET /d "));
    CHECK(contains(rest, "GET /e "));
}

TEST_CASE("bodies in chunks, bodies that are too long, and bodies that stop") {
    ConnectionOptions options;
    options.body_timeout = 100ms;
    const Echo echo(options);
    RawClient chunked = echo.client();
    chunked.send(
        "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    CHECK(contains(chunked.read_until("abcde"), "POST /a abcde"));

    RawClient announced = echo.client();
    announced.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n");
    CHECK(contains(announced.read_all(), "HTTP/1.1 413 "));

    RawClient growing = echo.client();
    growing.send("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 30; ++i)
        growing.send("64\r\n" + std::string(100, 'x') + "\r\n");
    CHECK(contains(growing.read_all(), "HTTP/1.1 413 "));

    RawClient stopped = echo.client();
    stopped.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    CHECK(contains(stopped.read_all(), "HTTP/1.1 400 "));

    RawClient whole = echo.client(); // nobody else was harmed
    whole.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'x'));
    CHECK(contains(whole.read_until(std::string(1000, 'x')), "HTTP/1.1 200 "));
}

TEST_CASE("heads that never end, are too long, too many or nonsense are refused") {
    ConnectionOptions options;
    options.header_timeout = 200ms;
    options.header_bytes_max = 20'000;
    const Echo echo(options);

    RawClient dripping = echo.client();
    std::string answer;
    for (int i = 0; i < 200 && answer.empty(); ++i) {
        dripping.send(i == 0 ? "GET / HTTP/1.1\r\nX: " : "x");
        answer = dripping.read_until("took too long", 10ms);
    }
    CHECK(contains(answer, "HTTP/1.1 408 "));
    CHECK(dripping.is_closed(5s));

    RawClient endless = echo.client();
    for (int i = 0; i < 30; ++i)
        endless.send("X-" + std::to_string(i) + ": " + std::string(1000, 'x') + "\r\n");
    CHECK(contains(endless.read_all(), "HTTP/1.1 431 "));

    std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
    for (int i = 0; i < 101; ++i)
        many += "X-" + std::to_string(i) + ": y\r\n";
    for (const std::string& head :
         {many + "\r\n", std::string("nonsense\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
          std::string("BREW / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string("\x16\x03\x01\x02\r\n\r\n"),
          std::string("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n")}) {
        CAPTURE(head);
        RawClient client = echo.client();
        client.send(head);
        const std::string reply = client.read_until("refused");
        CHECK(contains(reply, "HTTP/1.1 400 "));
        CHECK(contains(reply, "refused: "));
    }
    RawClient far = echo.client();
    far.send("GET /" + std::string(3000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(far.read_until("refused"), "HTTP/1.1 414 "));
}

TEST_CASE("a thousand idle connections cost no thread and hold nobody up") {
    ConnectionOptions options;
    options.handlers_max = 2;
    const Echo echo(options);
    std::vector<RawClient> idle;
    for (int i = 0; i < 1000; ++i) {
        idle.push_back(echo.client());
        if (i % 2 == 0)
            idle.back().send("GET / HTTP/1.1\r\nX: begun");
    }
    REQUIRE(eventually([&] { return echo.listener().connections() == 1000; }));
    RawClient client = echo.client();
    client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("GET /a "), "HTTP/1.1 200 OK\r\n"));
    idle[998].send("\r\n\r\n");
    CHECK(contains(idle[998].read_until("GET / "), "HTTP/1.1 200 OK\r\n"));
    idle.clear();
    CHECK(eventually([&] { return echo.listener().connections() <= 1; }));
}

TEST_CASE("too many connections, and too many requests at work, are sent away at once") {
    ConnectionOptions options;
    options.connections_max = 3;
    options.handlers_max = 1;
    Echo echo(options);
    RawClient first = echo.client();
    first.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    REQUIRE(eventually([&] { return echo.waiting == 1; }));
    RawClient second = echo.client();
    second.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(second.read_all(), "HTTP/1.1 503 "));
    const std::vector<RawClient> others = [&] {
        std::vector<RawClient> clients;
        clients.push_back(echo.client());
        clients.push_back(echo.client());
        return clients;
    }();
    REQUIRE(eventually([&] { return echo.listener().connections() == 3; }));
    RawClient last = echo.client();
    CHECK(contains(last.read_all(), "too many connections"));
    echo.may_go_on = true;
    CHECK(contains(first.read_until("GET /wait"), "HTTP/1.1 200 OK\r\n"));
}

TEST_CASE("idle connections end after their time") {
    ConnectionOptions options;
    options.idle_timeout = 50ms;
    const Echo echo(options);
    RawClient client = echo.client();
    CHECK(client.read_all().empty());
    CHECK(client.is_closed(0ms));
}

TEST_CASE("a stream comes in pieces; a client of HTTP/1.0 gets it without chunks") {
    Echo echo;
    RawClient client = echo.client();
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("one "), "Transfer-Encoding: chunked\r\n"));
    echo.may_go_on = true;
    CHECK(contains(client.read_until("0\r\n\r\n"), "3\r\ntwo\r\n"));
    client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("GET /a "), "200 OK"));

    RawClient old = echo.client();
    old.send("GET /stream HTTP/1.0\r\n\r\n");
    const std::string text = old.read_all();
    CHECK(!contains(text, "chunked"));
    CHECK(contains(text, "\r\n\r\none "));
    CHECK(text.ends_with("two"));
}

TEST_CASE("who has closed one half is served; who is gone is noticed, streaming or not") {
    Echo echo;
    RawClient half = echo.client();
    half.send("GET /wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    half.finish();
    REQUIRE(eventually([&] { return echo.waiting == 1; }));
    std::this_thread::sleep_for(50ms);
    CHECK(echo.seen_gone == 0);
    for (const char* path : {"/wait", "/stream"}) {
        for (const bool is_reset : {true, false}) {
            CAPTURE(path, is_reset);
            const int before = echo.waiting, gone = echo.seen_gone;
            RawClient client = echo.client();
            client.send(std::string("GET ") + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
            REQUIRE(eventually([&] { return echo.waiting == before + 1; }));
            if (is_reset) {
                client.reset();
            } else {
                const RawClient closed = std::move(client);
            }
            CHECK(eventually([&] { return echo.seen_gone == gone + 1; }));
        }
    }
    echo.may_go_on = true;
    CHECK(contains(half.read_all(), "GET /wait "));
}

TEST_CASE("a client that does not read is given up") {
    ConnectionOptions options;
    options.write_timeout = 100ms;
    const Echo echo(options);
    RawClient client = echo.client();
    client.send("GET /flood HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(eventually([&] { return echo.seen_gone == 1; }));
}

TEST_CASE("a connection at work can be broken from inside") {
    const Echo echo;
    RawClient client = echo.client();
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    REQUIRE(eventually([&] { return echo.waiting == 1; }));
    echo.listener().abort();
    CHECK(eventually([&] { return echo.seen_gone == 1; }));
}

TEST_CASE("a handler that throws is an answer of 500") {
    const Echo echo;
    RawClient client = echo.client();
    client.send("GET /throw HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("wrong"), "HTTP/1.1 500 "));
}

TEST_CASE("an address that cannot be had is told") {
    ConnectionOptions options;
    options.host = "192.0.2.1";
    const auto opened = Listener::open(options, {});
    REQUIRE(!opened.has_value());
    CHECK(contains(opened.error().message, "cannot listen on 192.0.2.1"));
}

TEST_CASE("what is at work when the server stops is finished") {
    auto echo = std::make_unique<Echo>();
    RawClient client = echo->client();
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    client.read_until("one ");
    const RawClient idle = echo->client();
    echo.reset();
    CHECK(contains(client.read_all(), "two"));
}

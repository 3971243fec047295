// Request bodies, their timeouts and limits, over a real socket.

#include "tests/server/echo.hpp"
#include "tests/server/raw_client.hpp"
#include "tests/support/catch.hpp"

#include <thread>
#include <vector>

using namespace etna::server;
using namespace std::chrono_literals;
using etna::test::contains;
using etna::test::Echo;
using etna::test::eventually;
using etna::test::RawClient;

namespace {

constexpr const char* partial_request = "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\nabc";

std::string exchange(const Echo& echo, const std::string& bytes, std::string_view until) {
    RawClient client(echo.port());
    client.send(bytes);
    return client.read_until(until);
}

} // namespace

TEST_CASE("incomplete bodies occupy no handler") {
    ConnectionOptions options;
    options.handlers_max = 2;
    const Echo echo(options);
    std::vector<RawClient> slow;
    for (int i = 0; i < 50; ++i) {
        slow.emplace_back(echo.port());
        slow.back().send(i % 2 == 0
                             ? partial_request
                             : "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab");
    }
    REQUIRE(eventually([&] { return echo.listener().connections() == 50; }));
    CHECK(echo.listener().requests() == 0);
    CHECK(contains(exchange(echo, "GET /live HTTP/1.1\r\nHost: x\r\n\r\n", "GET /live"), "200 OK"));
    CHECK(contains(exchange(echo, "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi", "hi"),
                   "200 OK"));
    REQUIRE(eventually([&] { return echo.listener().requests() == 0; })); // both handlers are free again
    slow[1].send("cde\r\n0\r\n\r\n");
    CHECK(contains(slow[1].read_until("abcde"), "POST /a abcde"));
}

TEST_CASE("a body slower than the minimum rate gets 408; a faster one may exceed body_timeout") {
    ConnectionOptions options;
    options.body_timeout = 300ms;
    options.body_bytes_per_s = 100;
    const Echo echo(options);
    const auto send_in_pieces = [&](std::size_t piece, std::chrono::milliseconds pause) {
        RawClient client(echo.port());
        client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n");
        const auto begin = std::chrono::steady_clock::now();
        std::string text;
        for (std::size_t sent = 0; sent < 900 && text.empty(); sent += piece) {
            client.send(std::string(piece, 'x'));
            text = client.read_until("\r\n\r\n", pause);
        }
        text += text.empty() ? client.read_until("\r\n\r\n") : "";
        return std::pair(text.substr(0, 13), std::chrono::steady_clock::now() - begin);
    };
    const auto [slow, slow_time] = send_in_pieces(1, 10ms);
    CHECK(slow == "HTTP/1.1 408 ");
    CHECK(slow_time < 5s); // not the 9 s of the complete body
    const auto [fast, fast_time] = send_in_pieces(100, 60ms);
    CHECK(fast == "HTTP/1.1 200 ");
    CHECK(fast_time > 300ms);
}

TEST_CASE("health checks are answered when all handlers are busy") {
    ConnectionOptions options;
    options.handlers_max = 1;
    Echo echo(options);
    RawClient busy(echo.port());
    busy.send("GET /stuck HTTP/1.1\r\nHost: x\r\n\r\n");
    REQUIRE(eventually([&] { return echo.waiting == 1; }));
    CHECK(contains(exchange(echo, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n", "concurrent"), "HTTP/1.1 503 "));
    CHECK(contains(exchange(echo, "GET /live HTTP/1.1\r\nHost: x\r\n\r\n", "GET /live"), "200 OK"));
    echo.may_go_on = true;
}

TEST_CASE("wait() returns false at its limit if a handler ignores abort()") {
    Echo echo;
    RawClient client(echo.port());
    client.send("GET /stuck HTTP/1.1\r\nHost: x\r\n\r\n");
    REQUIRE(eventually([&] { return echo.waiting == 1; }));
    echo.listener().stop();
    echo.listener().abort();
    CHECK(!echo.listener().wait(50ms));
    echo.may_go_on = true;
    CHECK(echo.listener().wait(20s));
}

TEST_CASE("a request without Content-Length has no body, and the next request follows it") {
    ConnectionOptions options;
    options.body_timeout = 20s;
    const Echo echo(options);
    RawClient client(echo.port());
    client.send("POST /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("GET /b ", 5s), "POST /a "));
    client.send(
        "GET /c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /d HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("GET /d ", 5s), "GET /c abc"));
}

TEST_CASE("a body is passed on unchanged, whatever its content type and encoding") {
    const Echo echo;
    for (const char* type : {"application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                             "multipart/form-data", "text/plain\r\nContent-Encoding: gzip"}) {
        CAPTURE(type);
        CHECK(contains(exchange(echo,
                                std::string("POST /a HTTP/1.1\r\nHost: x\r\nContent-Type: ") + type +
                                    "\r\nContent-Length: 8\r\n\r\n{\"a\": 1}",
                                "1}"),
                       "POST /a {\"a\": 1}"));
    }
}

TEST_CASE("Expect: 100-continue gets 100, or the refusal immediately") {
    const Echo echo;
    RawClient client(echo.port());
    client.send("POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
    CHECK(client.read_until("\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
    client.send("abc");
    CHECK(client.read_until("POST /a abc").starts_with("HTTP/1.1 200 OK\r\n"));
    client.send("POST /a HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3000\r\n\r\n");
    CHECK(client.read_all().starts_with("HTTP/1.1 413 "));
}

TEST_CASE("a client refused in the middle of a large body receives the response") {
    const Echo echo;
    for (int i = 0; i < 20; ++i) {
        RawClient client(echo.port());
        client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n");
        client.send(std::string(3'000'000, 'x'));
        CHECK(contains(client.read_all(), "HTTP/1.1 413 "));
    }
    CHECK(eventually([&] { return echo.listener().connections() == 0; }));
}

TEST_CASE("a large body arrives complete") {
    const Echo echo({}, 10'000'000);
    const std::string body(10'000'000, 'x');
    RawClient client(echo.port());
    client.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10000000\r\nConnection: close\r\n\r\n" +
                body);
    CHECK(client.read_all().ends_with("POST /a " + body));
}

TEST_CASE("Range is ignored, HEAD has no body, and Keep-Alive names the idle timeout") {
    Echo echo;
    echo.may_go_on = true;
    for (const char* path : {"/a", "/stream"}) {
        for (const char* range : {"bytes=0-1", "bytes=900-", "lines=1", "bytes=0-0,2-3"}) {
            CAPTURE(path, range);
            const std::string text = exchange(
                echo, std::string("GET ") + path + " HTTP/1.1\r\nHost: x\r\nRange: " + range + "\r\n\r\n",
                path[1] == 'a' ? "GET /a " : "0\r\n\r\n");
            CHECK(contains(text, "HTTP/1.1 200 OK\r\n"));
            CHECK(contains(text, path[1] == 'a' ? "GET /a " : "two"));
            CHECK(contains(text, "Keep-Alive: timeout=75\r\n"));
        }
    }
    RawClient client(echo.port());
    client.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n\r\n");
    const std::string text = client.read_all();
    CHECK(contains(text, "Content-Length: 8\r\n"));
    CHECK(!contains(text, "HEAD /a"));
    CHECK(!contains(text, "Accept-Ranges"));
    CHECK(text.ends_with("\r\n\r\nGET /b "));
    CHECK(contains(text, "Connection: close\r\n"));

    RawClient http_1_0(echo.port());
    http_1_0.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    CHECK(contains(http_1_0.read_until("GET /a "), "Connection: keep-alive\r\n"));
    http_1_0.send("GET /b HTTP/1.0\r\n\r\n");
    CHECK(contains(http_1_0.read_all(), "GET /b "));
}

TEST_CASE("a header value reaches the handler unchanged") {
    const Echo echo;
    CHECK(exchange(echo, "GET /header HTTP/1.1\r\nHost: x\r\nX-Shown: a%41%0d%0a b\r\n\r\n", "b")
              .ends_with("\r\n\r\na%41%0d%0a b"));
}

TEST_CASE("ambiguous framing gets 400 and closes the connection") {
    const Echo echo;
    for (const char* lines :
         {"Content-Length: 3\r\nContent-Length: 4", "Content-Length: 3\r\nTransfer-Encoding: chunked",
          "Content-Length : 3", "Transfer-Encoding : chunked"}) {
        CAPTURE(lines);
        RawClient client(echo.port());
        client.send(std::string("POST /a HTTP/1.1\r\nHost: x\r\n") + lines +
                    "\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n");
        const std::string text = client.read_all();
        CHECK(contains(text, "HTTP/1.1 400 "));
        CHECK(!contains(text, "smuggled"));
    }
}

TEST_CASE("silent connections time out in every state; others are served") {
    ConnectionOptions options;
    options.header_timeout = options.body_timeout = options.idle_timeout = options.write_timeout = 200ms;
    const Echo echo(options);
    std::vector<RawClient> silent; // as after a network failure: no FIN arrives
    for (const char* sent : {"", "GET /a HT", partial_request, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n",
                             "GET /flood HTTP/1.1\r\nHost: x\r\n\r\n"}) {
        silent.emplace_back(echo.port());
        silent.back().send(sent);
    }
    CHECK(eventually([&] { return echo.seen_gone == 1; }));
    CHECK(contains(exchange(echo, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n", "GET /a "), "200 OK"));
    CHECK(eventually([&] { return echo.listener().connections() == 0; }));
}

// Connections and hostile peers, over a real socket, with test handlers.

#include "server/http/listener.hpp"
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

TEST_CASE("a connection serves successive requests, fragmented or pipelined") {
    const Echo echo;
    RawClient client(echo.port());
    client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("GET /a "), "HTTP/1.1 200 OK\r\n"));
    client.send("\r\nPOST /b HTTP/1.1\r\nHo");
    std::this_thread::sleep_for(20ms); // the pieces arrive apart
    client.send("st: x\r\nContent-Length: 5\r\n\r\nhe");
    std::this_thread::sleep_for(20ms); // the same
    client.send("llo");
    CHECK(contains(client.read_until("POST /b hello"), "POST /b hello"));
    client.send("POST /c HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhiGET /d HTTP/1.1\r\nHost: x\r\n\r\n"
                "GET /e HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const std::string rest = client.read_all();
    CHECK(contains(rest, "POST /c hi"));
    CHECK(contains(rest, "GET /d "));
    CHECK(contains(rest, "GET /e "));
}

TEST_CASE("the refuse handler gets the parsed part of the request") {
    ConnectionOptions options;
    options.header_timeout = options.body_timeout = 1s; // longer than a thread is delayed on a busy machine
    options.handlers_max = 1;
    Echo echo(options);
    const auto refused = [&](const std::string& sent) {
        RawClient client(echo.port());
        client.send(sent);
        return client.read_all();
    };
    const std::string head = "POST /a HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\n";
    for (const auto& [status, sent] :
         {std::pair<std::string, std::string>("413", head + "Content-Length: 1001\r\n\r\n"),
          {"408", head + "Content-Length: 10\r\n\r\nabc"},
          {"408", head + "X: a"},
          {"431", head + "X: " + std::string(9000, 'a') + "\r\n\r\n"}}) {
        const std::string answer = refused(sent);
        CAPTURE(answer);
        CHECK(contains(answer, "HTTP/1.1 " + status + " "));
        CHECK(contains(answer, "x-seen: POST /a mine\r\n"));
    }
    RawClient busy(echo.port());
    busy.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    REQUIRE(eventually([&] { return echo.waiting == 1; }));
    const std::string answer = refused(head + "\r\n");
    CHECK(contains(answer, "HTTP/1.1 503 "));
    CHECK(contains(answer, "x-seen: POST /a mine\r\n"));
    echo.may_go_on = true;
    std::string thrown;
    const auto is_free = [&] { // the only handler is busy at first
        thrown = refused("GET /throw HTTP/1.1\r\nHost: x\r\nX-Request-Id: mine\r\n\r\n");
        return contains(thrown, "HTTP/1.1 500 ");
    };
    REQUIRE(eventually(is_free));
    CHECK(contains(thrown, "x-seen: GET /throw mine\r\n"));
}

TEST_CASE("unknown methods reach the handler unchanged") {
    const Echo echo;
    for (const char* method : {"BREW", "TRACE", "CONNECT", "PRI", "M-SEARCH"}) {
        RawClient client(echo.port());
        client.send(std::string(method) + " /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        CHECK(contains(client.read_all(), std::string(method) + " /a "));
    }
}

TEST_CASE("event streams have Connection: keep-alive unless the connection closes") {
    const Echo echo;
    RawClient client(echo.port());
    client.send("GET /events HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("\r\n\r\n"), "Connection: keep-alive\r\n"));
    RawClient last(echo.port());
    last.send("GET /events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    const std::string answer = last.read_all();
    CHECK(contains(answer, "Connection: close\r\n"));
    CHECK(!contains(answer, "keep-alive"));
}

TEST_CASE("memory that a handler reserves counts toward the budget until the response") {
    ConnectionOptions options;
    options.bodies_bytes_max = 1'000'000;
    const Echo echo(options);
    const auto reserve = [&](const std::string& bytes) {
        RawClient client(echo.port());
        client.send("POST /claim HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: " +
                    std::to_string(bytes.size()) + "\r\n\r\n" + bytes);
        return client.read_all();
    };
    for (int round = 0; round < 3; ++round)
        CHECK(contains(reserve("900000"), "granted"));
    CHECK(contains(reserve("1100000"), "denied"));
    CHECK(contains(reserve("60000"), "granted"));
}

TEST_CASE("chunked bodies are read; oversized, stalled and truncated ones get 413, 408 and 400") {
    ConnectionOptions options;
    options.body_timeout = 100ms;
    const Echo echo(options);
    RawClient chunked(echo.port());
    chunked.send(
        "POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    CHECK(contains(chunked.read_until("abcde"), "POST /a abcde"));

    RawClient announced(echo.port());
    announced.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n");
    CHECK(contains(announced.read_all(), "HTTP/1.1 413 "));

    RawClient growing(echo.port());
    growing.send("POST /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 30; ++i)
        growing.send("64\r\n" + std::string(100, 'x') + "\r\n");
    CHECK(contains(growing.read_all(), "HTTP/1.1 413 "));

    RawClient stopped(echo.port());
    stopped.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    CHECK(contains(stopped.read_all(), "HTTP/1.1 408 "));

    RawClient cut(echo.port());
    cut.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
    cut.finish();
    CHECK(contains(cut.read_all(), "HTTP/1.1 400 "));

    RawClient complete(echo.port()); // others are served
    complete.send("POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + std::string(1000, 'x'));
    CHECK(contains(complete.read_until(std::string(1000, 'x')), "HTTP/1.1 200 "));
}

TEST_CASE("endless, oversized and malformed heads are refused") {
    ConnectionOptions options;
    options.header_timeout = 200ms;
    options.header_bytes_max = 20'000;
    const Echo echo(options);

    RawClient slow(echo.port());
    std::string answer;
    for (int i = 0; i < 200 && answer.empty(); ++i) {
        slow.send(i == 0 ? "GET / HTTP/1.1\r\nX: " : "x");
        answer = slow.read_until("took too long", 10ms);
    }
    CHECK(contains(answer, "HTTP/1.1 408 "));
    CHECK(slow.is_closed(5s));

    RawClient endless(echo.port());
    for (int i = 0; i < 30; ++i)
        endless.send("X-" + std::to_string(i) + ": " + std::string(1000, 'x') + "\r\n");
    CHECK(contains(endless.read_all(), "HTTP/1.1 431 "));

    std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
    for (int i = 0; i < 101; ++i)
        many += "X-" + std::to_string(i) + ": y\r\n";
    RawClient several(echo.port());
    several.send(many + "\r\n");
    CHECK(contains(several.read_until("refused"), "HTTP/1.1 431 "));
    for (const std::string& head :
         {std::string("nonsense\r\n\r\n"), std::string("GET / HTTP/9.9\r\n\r\n"),
          std::string("BR:EW / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string("\x16\x03\x01\x02\r\n\r\n"),
          std::string("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n")}) {
        CAPTURE(head);
        RawClient client(echo.port());
        client.send(head);
        const std::string reply = client.read_until("refused");
        CHECK(contains(reply, "HTTP/1.1 400 "));
        CHECK(contains(reply, "refused: "));
    }
    RawClient long_target(echo.port());
    long_target.send("GET /" + std::string(3000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(long_target.read_until("refused"), "HTTP/1.1 414 "));
}

TEST_CASE("a thousand idle connections occupy no thread and delay no request") {
    ConnectionOptions options;
    options.handlers_max = 2;
    const Echo echo(options);
    std::vector<RawClient> idle;
    for (int i = 0; i < 1000; ++i) {
        idle.emplace_back(echo.port());
        if (i % 2 == 0)
            idle.back().send("GET / HTTP/1.1\r\nHost: x\r\nX: part");
    }
    REQUIRE(eventually([&] { return echo.listener().connections() == 1000; }));
    RawClient client(echo.port());
    client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("GET /a "), "HTTP/1.1 200 OK\r\n"));
    idle[998].send("\r\n\r\n");
    CHECK(contains(idle[998].read_until("GET / "), "HTTP/1.1 200 OK\r\n"));
    idle.clear();
    CHECK(eventually([&] { return echo.listener().connections() <= 1; }));
}

TEST_CASE("over handlers_max and connections_max, requests and connections get 503 immediately") {
    ConnectionOptions options;
    options.connections_max = 1;
    options.handlers_max = 1;
    Echo echo(options);
    RawClient first(echo.port());
    first.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    REQUIRE(eventually([&] { return echo.waiting == 1; }));
    RawClient second(echo.port());
    CHECK(contains(second.read_all(), "too many connections"));
    echo.may_go_on = true;
    CHECK(contains(first.read_until("GET /wait"), "HTTP/1.1 200 OK\r\n"));
    echo.may_go_on = false;

    ConnectionOptions roomy;
    roomy.handlers_max = 1;
    Echo wide(roomy);
    RawClient busy(wide.port());
    busy.send("GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
    REQUIRE(eventually([&] { return wide.waiting == 1; }));
    RawClient late(wide.port());
    late.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(late.read_all(), "HTTP/1.1 503 "));
    wide.may_go_on = true;
}

TEST_CASE("a client with few requests is answered while another one has all handlers, up to twice as many") {
    ConnectionOptions options;
    options.handlers_max = 3;
    Echo echo(options);
    std::vector<RawClient> waiting;
    const auto hold = [&](const std::string& client) {
        const int before = echo.waiting;
        waiting.emplace_back(echo.port());
        waiting.back().send("GET /wait HTTP/1.1\r\nHost: x\r\nX-Client: " + client + "\r\n\r\n");
        REQUIRE(eventually([&] { return echo.waiting == before + 1; }));
    };
    const auto status_of = [&](const std::string& client) {
        RawClient late(echo.port());
        late.send("GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Client: " + client + "\r\n\r\n");
        return late.read_all().substr(0, std::string_view("HTTP/1.1 200").size());
    };
    for (int i = 0; i < 3; ++i)
        hold("heavy");
    CHECK(status_of("heavy") == "HTTP/1.1 503");
    CHECK(status_of("light") == "HTTP/1.1 200");
    for (int i = 0; i < 3; ++i)
        hold("other");
    CHECK(status_of("light") == "HTTP/1.1 503");
    echo.may_go_on = true;
}

TEST_CASE("at connections_max, the longest-idle connection of the address with the most is evicted") {
    ConnectionOptions options;
    options.connections_max = 10;
    const Echo echo(options);
    const auto connected = [&](std::size_t count) {
        return eventually([&] { return echo.listener().connections() == count; });
    };
    RawClient other(echo.port(), "127.0.0.3"); // idle for the longest time, but the only one of its address
    REQUIRE(connected(1));
    std::vector<RawClient> idle;
    for (std::size_t i = 0; i < 9; ++i) {
        idle.emplace_back(echo.port());
        REQUIRE(connected(i + 2));
    }
    idle[0].send("GET /a HTTP/1.1\r\nHost: x\r\n"); // in the middle of a head
    idle[1].send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(idle[1].read_until("GET /a "), "200 OK")); // idle again, for a shorter time
    for (int round = 0; round < 3; ++round) {
        RawClient fresh(echo.port(), "127.0.0.2");
        fresh.send("GET /live HTTP/1.1\r\nHost: x\r\n\r\n");
        CHECK(contains(fresh.read_until("GET /live"), "200 OK"));
        CHECK(fresh.is_closed(0ms) == false);
    }
    CHECK(idle[2].is_closed(20s));
    CHECK(!idle[1].is_closed(0ms));
    CHECK(!other.is_closed(0ms));
    idle[0].send("\r\n");
    CHECK(contains(idle[0].read_until("GET /a "), "200 OK"));
}

TEST_CASE("an address over its limit evicts its own connections") {
    ConnectionOptions options;
    options.connections_max = 100;
    options.connections_per_address_max = 3;
    const Echo echo(options);
    RawClient other(echo.port(), "127.0.0.3");
    std::vector<RawClient> mine;
    for (std::size_t i = 0; i < 8; ++i) {
        mine.emplace_back(echo.port());
        REQUIRE(
            eventually([&] { return echo.listener().connections() == 1 + std::min<std::size_t>(i + 1, 3); }));
    }
    for (std::size_t i = 0; i < 5; ++i)
        CHECK(mine[i].is_closed(20s));
    for (std::size_t i = 5; i < 8; ++i)
        CHECK(!mine[i].is_closed(0ms));
    CHECK(!other.is_closed(0ms));
    mine[5].send(
        "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab"); // all are in the middle of a request
    mine[6].send("GET /a HTTP/1.1\r\n");
    mine[7].send("GET /a HTTP/1.1\r\n");
    std::this_thread::sleep_for(100ms); // until the server has read them all
    RawClient one_more(echo.port());
    CHECK(contains(mine[5].read_all(), "HTTP/1.1 503 ")); // evicted in the middle of a request
}

TEST_CASE("idle connections are closed after idle_timeout") {
    ConnectionOptions options;
    options.idle_timeout = 50ms;
    const Echo echo(options);
    RawClient client(echo.port());
    CHECK(client.read_all().empty());
    CHECK(client.is_closed(0ms));
}

TEST_CASE("a stream is chunked; an HTTP/1.0 client gets it unchunked") {
    Echo echo;
    RawClient client(echo.port());
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("one "), "Transfer-Encoding: chunked\r\n"));
    echo.may_go_on = true;
    CHECK(contains(client.read_until("0\r\n\r\n"), "3\r\ntwo\r\n"));
    client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("GET /a "), "200 OK"));

    RawClient http_1_0(echo.port());
    http_1_0.send("GET /stream HTTP/1.0\r\n\r\n");
    const std::string text = http_1_0.read_all();
    CHECK(!contains(text, "chunked"));
    CHECK(contains(text, "\r\n\r\none "));
    CHECK(text.ends_with("two"));
}

TEST_CASE("a half-closed client is served; a disconnected one is detected, streaming or not") {
    Echo echo;
    RawClient half(echo.port());
    half.send("GET /wait HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    half.finish();
    REQUIRE(eventually([&] { return echo.waiting == 1; }));
    std::this_thread::sleep_for(50ms); // for an effect that must not happen
    CHECK(echo.seen_gone == 0);
    for (const char* path : {"/wait", "/stream"}) {
        for (const bool is_reset : {true, false}) {
            CAPTURE(path, is_reset);
            const int before = echo.waiting, gone = echo.seen_gone;
            RawClient client(echo.port());
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

TEST_CASE("a client that does not read is disconnected after write_timeout") {
    ConnectionOptions options;
    options.write_timeout = 100ms;
    const Echo echo(options);
    RawClient client(echo.port());
    client.send("GET /flood HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(eventually([&] { return echo.seen_gone == 1; }));
}

TEST_CASE("abort() breaks the connections of running requests") {
    const Echo echo;
    RawClient client(echo.port());
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    REQUIRE(eventually([&] { return echo.waiting == 1; }));
    echo.listener().abort();
    CHECK(eventually([&] { return echo.seen_gone == 1; }));
}

TEST_CASE("a handler that throws gets 500") {
    const Echo echo;
    RawClient client(echo.port());
    client.send("GET /throw HTTP/1.1\r\nHost: x\r\n\r\n");
    CHECK(contains(client.read_until("internal server error"), "HTTP/1.1 500 "));

    RawClient late(echo.port()); // thrown after the head: a truncated body
    late.send("GET /throw/late HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string text = late.read_all();
    CHECK(contains(text, "one "));
    CHECK(!contains(text, "0\r\n\r\n"));
}

TEST_CASE("an unavailable bind address is an error") {
    ConnectionOptions options;
    options.host = "192.0.2.1";
    const auto opened = Listener::open(options, {});
    REQUIRE(!opened.has_value());
    CHECK(contains(opened.error().message, "cannot listen on 192.0.2.1"));
}

TEST_CASE("requests that run when the server stops are finished") {
    auto echo = std::make_unique<Echo>();
    RawClient client(echo->port());
    client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
    client.read_until("one ");
    const RawClient idle(echo->port());
    echo.reset();
    CHECK(contains(client.read_all(), "two"));
}

TEST_CASE("stop() works at any moment of a request") {
    for (int round = 0; round < 1000; ++round) {
        const Echo echo;
        RawClient client(echo.port());
        client.send("GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
        std::this_thread::sleep_for(std::chrono::microseconds(round % 100 * 5)); // any moment of the answer
    }
}

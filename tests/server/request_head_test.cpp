// Heads as clients write them, and as those write them who want two readers to understand two things.

#include "server/http/request_head.hpp"
#include "tests/support/catch.hpp"

using namespace etna::server;

namespace {

/// `lines` after the first one, each with its end.
RequestHead good(const std::string& first, const std::string& lines = "Host: x\r\n") {
    auto head = read_head(first + "\r\n" + lines);
    const auto* refusal = std::get_if<Refusal>(&head);
    CAPTURE(first, lines, refusal != nullptr ? refusal->problem : "");
    REQUIRE(refusal == nullptr);
    return std::get<RequestHead>(std::move(head));
}

int refused(const std::string& first, const std::string& lines) {
    const auto head = read_head(first + "\r\n" + lines);
    const auto* refusal = std::get_if<Refusal>(&head);
    return refusal == nullptr ? 200 : refusal->status;
}

int refused_headers(const std::string& lines) {
    return refused("POST / HTTP/1.1", "Host: x\r\n" + lines);
}

} // namespace

TEST_CASE("a head gives method, path, headers and how its body is framed") {
    const RequestHead head =
        good("POST /v1/a%20b%2Fc%zz?x=1#y HTTP/1.1",
             "hOST: x:80\r\nX-One:  a b\t \r\nx-one: later\r\nEmpty:\r\nPercent: a%20b\r\n"
             "Content-Length: 12\r\nExpect: 100-Continue\r\n");
    CHECK(head.request.method == "POST");
    CHECK(head.request.path == "/v1/a b/c%zz");
    CHECK(head.request.header("host") == "x:80");
    CHECK(head.request.header("x-one") == "a b, later"); // one list (RFC 9110, 5.3)
    CHECK(head.request.header("empty").empty());
    CHECK(head.request.header("percent") == "a%20b"); // escapes are for targets
    CHECK(head.body_bytes == 12);
    CHECK(!head.is_chunked);
    CHECK(head.awaits_continue);
    CHECK(!head.closes_after_it);
    CHECK(good("POST / HTTP/1.1", "Host: x\r\nTransfer-Encoding: Chunked\r\n").is_chunked);
    CHECK(good("POST / HTTP/1.1").body_bytes == 0);
}

TEST_CASE("of a head that is not whole, or none, is told what can be read") {
    const HttpRequest cut = glimpse("POST /v1/x?a HTTP/1.1\r\nX-Request-Id:  mine \r\nX: aaa");
    CHECK(cut.method == "POST");
    CHECK(cut.path == "/v1/x");
    CHECK(cut.header("x-request-id") == "mine");
    CHECK(glimpse("GET / HTTP/1.1\r\nx-request-id: mi").headers.empty()); // its end has not come
    CHECK(glimpse("GET / HTTP/1.1\r\nX : a\r\n: b\r\nx-request-id: mine\r\n").header("x-request-id") ==
          "mine");
    for (const char* none : {"", "GET", "GET /", "\r\n", "x\r\nx-request-id: mine\r\n"})
        CHECK(glimpse(none).method.empty());
}

TEST_CASE("a connection goes on unless the client says otherwise, in any letters and among others") {
    CHECK(good("GET / HTTP/1.1", "Host: x\r\nConnection: Keep-Alive, Close\r\n").closes_after_it);
    CHECK(good("GET / HTTP/1.1", "Host: x\r\nConnection: te\r\nConnection: close\r\n").closes_after_it);
    CHECK(!good("GET / HTTP/1.1", "Host: x\r\nConnection: closed\r\n").closes_after_it);
    CHECK(good("GET / HTTP/1.0", "").closes_after_it);
    CHECK(!good("GET / HTTP/1.0", "Connection: keep-alive\r\n").closes_after_it);
}

TEST_CASE("a Host that is none is refused, so that nobody takes a part of it for the whole") {
    for (const char* host :
         {"", "x", "x:80", "x:", "127.0.0.1:8080", "[::1]", "[::1]:8080", "a_b.c-d~e", "xn--a"}) {
        CAPTURE(host);
        CHECK(refused("GET / HTTP/1.1", std::string("Host: ") + host + "\r\n") == 200);
    }
    for (const char* host : {"[::1]evil.com", "[::1]:80evil.com", "[::1", "::1", "[]", "[evil.com]", "x:y",
                             "x:8:9", "a@b", "a/b", "a b", "a?b", "\xc3\xa4"}) {
        CAPTURE(host);
        CHECK(refused("GET / HTTP/1.1", std::string("Host: ") + host + "\r\n") == 400);
        if (std::string_view(host).find_first_of("/?") == std::string_view::npos) // there its path begins
            CHECK(refused(std::string("GET http://") + host + "/a HTTP/1.1", "Host: x\r\n") == 400);
    }
}

TEST_CASE("a target in absolute form is a path on the host that it names") {
    const RequestHead head = good("GET HTTP://h.example:80/v1/models?a HTTP/1.1", "Host: other\r\n");
    CHECK(head.request.path == "/v1/models");
    CHECK(head.request.header("host") == "h.example:80");
    CHECK(good("GET http://h HTTP/1.1").request.path == "/");
    CHECK(good("OPTIONS * HTTP/1.1").request.path == "*");
    for (const char* target : {"http:///a", "http://user@h/a", "h:80", "a", "ftp://h/a", "", "/a\tb"}) {
        CAPTURE(target);
        CHECK(refused(std::string("GET ") + target + " HTTP/1.1", "Host: x\r\n") == 400);
    }
}

TEST_CASE("framing that could be read in two ways is refused") {
    CHECK(refused_headers("Content-Length: 3\r\nContent-Length: 3\r\n") == 200);
    CHECK(refused_headers("Content-Length: 3\r\nContent-Length: 4\r\n") == 400);
    CHECK(refused_headers("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n") == 400);
    CHECK(refused_headers("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n") == 400);
    CHECK(refused_headers("Transfer-Encoding: gzip, chunked\r\n") == 501);
    CHECK(refused_headers("Transfer-Encoding: \r\n") == 501);
    CHECK(refused("POST / HTTP/1.0", "Transfer-Encoding: chunked\r\n") == 400);
    for (const char* length : {"", "+1", "-1", "0x1", "1, 1", "1 1", "one"}) {
        CAPTURE(length);
        CHECK(refused_headers(std::string("Content-Length: ") + length + "\r\n") == 400);
    }
    CHECK(good("POST / HTTP/1.1", "Host: x\r\nContent-Length: 99999999999999999999999\r\n").body_bytes ==
          UINT64_MAX);
}

TEST_CASE("headers without a proper name, folded, or with control characters are refused") {
    for (const std::string& line :
         {std::string("X-One : a"), std::string("X-One\t: a"), std::string(" X-One: a"), std::string(": a"),
          std::string("no colon"), std::string("X One: a"), std::string("X: a\rb"), std::string("X: a\nY: b"),
          std::string("X: a\0b", 6), std::string("X: \x7f")}) {
        CAPTURE(line);
        CHECK(refused_headers(line + "\r\n") == 400);
    }
    CHECK(refused_headers("X: a\r\n folded\r\n") == 400);
    CHECK(refused("GET / HTTP/1.1", "") == 400); // which host?
    CHECK(refused("GET / HTTP/1.1", "Host: x\r\nHost: x\r\n") == 400);
}

TEST_CASE("first lines that are none of a request are refused") {
    for (const char* line : {"", "GET", "GET /", "GET / HTTP/2.0", "GET / http/1.1", "GET  / HTTP/1.1",
                             "GET / HTTP/1.1 ", " GET / HTTP/1.1", "G(T / HTTP/1.1", "GET / HTTP/1.1 x"}) {
        CAPTURE(line);
        CHECK(refused(line, "Host: x\r\n") == 400);
    }
}

TEST_CASE("heads have bounds") {
    CHECK(refused("GET /" + std::string(target_bytes_max, 'a') + " HTTP/1.1", "Host: x\r\n") == 414);
    CHECK(refused_headers("X: " + std::string(header_line_bytes_max, 'a') + "\r\n") == 431);
    CHECK(refused_headers("X: " + std::string(header_line_bytes_max - 3, 'a') + "\r\n") == 200);
    std::string many;
    for (std::size_t i = 1; i < headers_max; ++i)
        many += "X: y\r\n";
    CHECK(refused_headers(many) == 200);
    CHECK(refused_headers(many + "X: y\r\n") == 431);
}

// Parsing of request heads, valid ones and request-smuggling attempts.

#include "server/http/request_head.hpp"
#include "tests/support/catch.hpp"

using namespace etna::server;

namespace {

/// `lines`: the header lines, each with its line end.
RequestHead valid_head(const std::string& first, const std::string& lines = "Host: x\r\n") {
    auto head = read_head(first + "\r\n" + lines);
    const auto* refusal = std::get_if<Refusal>(&head);
    CAPTURE(first, lines, refusal != nullptr ? refusal->problem : "");
    REQUIRE(refusal == nullptr);
    return std::get<RequestHead>(std::move(head));
}

int status_of_head(const std::string& first, const std::string& lines) {
    const auto head = read_head(first + "\r\n" + lines);
    const auto* refusal = std::get_if<Refusal>(&head);
    return refusal == nullptr ? 200 : refusal->status;
}

int status_of_headers(const std::string& lines) {
    return status_of_head("POST / HTTP/1.1", "Host: x\r\n" + lines);
}

} // namespace

TEST_CASE("a head yields method, path, headers and body framing") {
    const RequestHead head =
        valid_head("POST /v1/a%20b%2Fc%zz?x=1#y HTTP/1.1",
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
    CHECK(valid_head("POST / HTTP/1.1", "Host: x\r\nTransfer-Encoding: Chunked\r\n").is_chunked);
    CHECK(valid_head("POST / HTTP/1.1").body_bytes == 0);
}

TEST_CASE("an incomplete or invalid head yields its readable part") {
    const HttpRequest partial = read_partial_head("POST /v1/x?a HTTP/1.1\r\nX-Request-Id:  mine \r\nX: aaa");
    CHECK(partial.method == "POST");
    CHECK(partial.path == "/v1/x");
    CHECK(partial.header("x-request-id") == "mine");
    CHECK(read_partial_head("GET / HTTP/1.1\r\nx-request-id: mi").headers.empty()); // incomplete line
    CHECK(read_partial_head("GET / HTTP/1.1\r\nX : a\r\n: b\r\nx-request-id: mine\r\n")
              .header("x-request-id") == "mine");
    for (const char* none : {"", "GET", "GET /", "\r\n", "x\r\nx-request-id: mine\r\n"})
        CHECK(read_partial_head(none).method.empty());
}

TEST_CASE("the connection is kept alive unless a Connection header or HTTP/1.0 says otherwise") {
    CHECK(valid_head("GET / HTTP/1.1", "Host: x\r\nConnection: Keep-Alive, Close\r\n").closes_after_it);
    CHECK(valid_head("GET / HTTP/1.1", "Host: x\r\nConnection: te\r\nConnection: close\r\n").closes_after_it);
    CHECK(!valid_head("GET / HTTP/1.1", "Host: x\r\nConnection: closed\r\n").closes_after_it);
    CHECK(valid_head("GET / HTTP/1.0", "").closes_after_it);
    CHECK(!valid_head("GET / HTTP/1.0", "Connection: keep-alive\r\n").closes_after_it);
}

TEST_CASE("an invalid Host gets 400, so that no other parser reads a part of it as the host") {
    for (const char* host :
         {"", "x", "x:80", "x:", "127.0.0.1:8080", "[::1]", "[::1]:8080", "a_b.c-d~e", "xn--a"}) {
        CAPTURE(host);
        CHECK(status_of_head("GET / HTTP/1.1", std::string("Host: ") + host + "\r\n") == 200);
    }
    for (const char* host : {"[::1]evil.com", "[::1]:80evil.com", "[::1", "::1", "[]", "[evil.com]", "x:y",
                             "x:8:9", "a@b", "a/b", "a b", "a?b", "\xc3\xa4"}) {
        CAPTURE(host);
        CHECK(status_of_head("GET / HTTP/1.1", std::string("Host: ") + host + "\r\n") == 400);
        if (std::string_view(host).find_first_of("/?") ==
            std::string_view::npos) // there the path would begin
            CHECK(status_of_head(std::string("GET http://") + host + "/a HTTP/1.1", "Host: x\r\n") == 400);
    }
}

TEST_CASE("an absolute-form target sets path and Host") {
    const RequestHead head = valid_head("GET HTTP://h.example:80/v1/models?a HTTP/1.1", "Host: other\r\n");
    CHECK(head.request.path == "/v1/models");
    CHECK(head.request.header("host") == "h.example:80");
    CHECK(valid_head("GET http://h HTTP/1.1").request.path == "/");
    CHECK(valid_head("OPTIONS * HTTP/1.1").request.path == "*");
    for (const char* target : {"http:///a", "http://user@h/a", "h:80", "a", "ftp://h/a", "", "/a\tb"}) {
        CAPTURE(target);
        CHECK(status_of_head(std::string("GET ") + target + " HTTP/1.1", "Host: x\r\n") == 400);
    }
}

TEST_CASE("ambiguous framing is refused") {
    CHECK(status_of_headers("Content-Length: 3\r\nContent-Length: 3\r\n") == 200);
    CHECK(status_of_headers("Content-Length: 3\r\nContent-Length: 4\r\n") == 400);
    CHECK(status_of_headers("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n") == 400);
    CHECK(status_of_headers("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n") == 400);
    CHECK(status_of_headers("Transfer-Encoding: gzip, chunked\r\n") == 501);
    CHECK(status_of_headers("Transfer-Encoding: \r\n") == 501);
    CHECK(status_of_head("POST / HTTP/1.0", "Transfer-Encoding: chunked\r\n") == 400);
    for (const char* length : {"", "+1", "-1", "0x1", "1, 1", "1 1", "one"}) {
        CAPTURE(length);
        CHECK(status_of_headers(std::string("Content-Length: ") + length + "\r\n") == 400);
    }
    CHECK(
        valid_head("POST / HTTP/1.1", "Host: x\r\nContent-Length: 99999999999999999999999\r\n").body_bytes ==
        UINT64_MAX);
}

TEST_CASE("invalid header names, folded lines and control characters get 400") {
    for (const std::string& line :
         {std::string("X-One : a"), std::string("X-One\t: a"), std::string(" X-One: a"), std::string(": a"),
          std::string("no colon"), std::string("X One: a"), std::string("X: a\rb"), std::string("X: a\nY: b"),
          std::string("X: a\0b", 6), std::string("X: \x7f")}) {
        CAPTURE(line);
        CHECK(status_of_headers(line + "\r\n") == 400);
    }
    CHECK(status_of_headers("X: a\r\n folded\r\n") == 400);
    CHECK(status_of_head("GET / HTTP/1.1", "") == 400); // no Host
    CHECK(status_of_head("GET / HTTP/1.1", "Host: x\r\nHost: x\r\n") == 400);
}

TEST_CASE("malformed request lines get 400") {
    for (const char* line : {"", "GET", "GET /", "GET / HTTP/2.0", "GET / http/1.1", "GET  / HTTP/1.1",
                             "GET / HTTP/1.1 ", " GET / HTTP/1.1", "G(T / HTTP/1.1", "GET / HTTP/1.1 x"}) {
        CAPTURE(line);
        CHECK(status_of_head(line, "Host: x\r\n") == 400);
    }
}

TEST_CASE("the limits of target, header size and header count hold") {
    CHECK(status_of_head("GET /" + std::string(target_bytes_max, 'a') + " HTTP/1.1", "Host: x\r\n") == 414);
    CHECK(status_of_headers("X: " + std::string(header_line_bytes_max, 'a') + "\r\n") == 431);
    CHECK(status_of_headers("X: " + std::string(header_line_bytes_max - 3, 'a') + "\r\n") == 200);
    std::string many;
    for (std::size_t i = 1; i < headers_max; ++i)
        many += "X: y\r\n";
    CHECK(status_of_headers(many) == 200);
    CHECK(status_of_headers(many + "X: y\r\n") == 431);
}

#include "server/http/exchange.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace etna;
using server::HttpResponse;
using server::response_head;
using namespace std::chrono_literals;

TEST_CASE("a response head frames a body, and says whether the connection stays open") {
    const HttpResponse response = {.status = 404, .headers = {{"etna-model", "m"}}, .body = "four"};
    CHECK(response_head(response, {.idle_timeout = 75s}) ==
          "HTTP/1.1 404 Not Found\r\netna-model: m\r\nContent-Type: application/json\r\nContent-Length: 4\r\n"
          "Keep-Alive: timeout=75\r\n\r\n");
    CHECK(response_head(response, {.is_http_1_0 = true, .closes = true})
              .ends_with("Content-Length: 4\r\nConnection: close\r\n\r\n"));
    CHECK(response_head(response, {.is_http_1_0 = true, .idle_timeout = 5s})
              .ends_with("Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\n"));
    CHECK(response_head({.status = 204}, {.closes = true}) ==
          "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    CHECK(response_head({.status = 304, .headers = {{"etag", "\"1\""}}}, {.closes = true}) ==
          "HTTP/1.1 304 Not Modified\r\netag: \"1\"\r\nConnection: close\r\n\r\n");
    CHECK(response_head({}, {.closes = true}) ==
          "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    CHECK(response_head({.status = 299}, {}).starts_with("HTTP/1.1 299 Unknown\r\n"));
}

TEST_CASE("every status that the server sends has a reason phrase") {
    for (const int status : {200, 201, 202, 204, 304, 400, 401, 403, 404, 405, 406, 408, 409, 411, 413,
                             414, 415, 417, 421, 422, 429, 431, 499, 500, 501, 502, 503, 504, 505, 529}) {
        CAPTURE(status);
        CHECK(server::reason_phrase(status) != "Unknown");
    }
    CHECK(response_head({.status = 502}, {}).starts_with("HTTP/1.1 502 Bad Gateway\r\n"));
}

TEST_CASE("a stream is chunked, except for HTTP/1.0") {
    const HttpResponse response = {.content_type = "text/event-stream", .stream = [](server::HttpWriter&) {}};
    CHECK(response_head(response, {.idle_timeout = 5s}) ==
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
          "Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\n");
    CHECK(response_head(response, {.is_http_1_0 = true, .closes = true}) ==
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
}

TEST_CASE("a header that could end its line is left out") {
    const HttpResponse response = {
        .headers = {{"a", "b\r\nset-cookie: x"}, {"c\n", "d"}, {"e", std::string("f\0", 2)}, {"g", "h"}}};
    CHECK(response_head(response, {.closes = true}) ==
          "HTTP/1.1 200 OK\r\ng: h\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

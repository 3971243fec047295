// The server as another implementation of HTTP sees it: cpp-httplib's client.

#include "tests/server/echo.hpp"
#include "tests/support/catch.hpp"

#include <string>

#include <httplib.h>

using etna::test::Echo;

TEST_CASE("another implementation's client reads answers whole, in pieces and over one connection") {
    Echo echo;
    echo.may_go_on = true;
    httplib::Client client("127.0.0.1", echo.port());
    client.set_keep_alive(true);
    for (const char* const body : {"hello", "", "again"}) {
        const auto answer = client.Post("/a", body, "text/plain");
        REQUIRE(answer);
        CHECK(answer->status == 200);
        CHECK(answer->body.find("POST /a " + std::string(body)) != std::string::npos);
    }
    std::string pieces;
    const auto streamed = client.Get("/stream", [&](const char* data, std::size_t size) {
        pieces.append(data, size);
        return true;
    });
    REQUIRE(streamed);
    CHECK_FALSE(pieces.empty());
    CHECK(client.Get("/live"));
}

TEST_CASE("another implementation's client may leave in the middle of an answer") {
    Echo echo;
    httplib::Client client("127.0.0.1", echo.port());
    CHECK_FALSE(client.Get("/flood", [](const char*, std::size_t) { return false; }));
    CHECK(client.Get("/live"));
}

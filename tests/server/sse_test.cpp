#include "server/http/sse.hpp"
#include "tests/support/catch.hpp"

using namespace etna::server;

TEST_CASE("a frame has one field per line, and an empty line") {
    CHECK(sse::data("{}") == "data: {}\n\n");
    CHECK(sse::data("") == "data: \n\n");
    CHECK(sse::write({.data = "a\nb\r\nc\rd", .event = "e", .id = "7", .retry_ms = 3000}) ==
          "event: e\nid: 7\nretry: 3000\ndata: a\ndata: b\ndata: c\ndata: d\n\n");
    CHECK(sse::keep_alive == ": keep-alive\n\n");
    CHECK(sse::write({.comments = {"one", "two"}}) == ": one\n: two\n\n");
}

TEST_CASE("an event without data gets null, and its name stays on one line") {
    CHECK(sse::write({.event = "x\ndata: y", .comments = {"z"}}) == "event: xdata: y\n: z\ndata: null\n\n");
}

TEST_CASE("an error event joins its comments, with a default") {
    CHECK(sse::error({"a", "b"}, "{}") == "event: error\n: a -- b\ndata: {}\n\n");
    CHECK(sse::error({}, "{}") == "event: error\n: unspecified error\ndata: {}\n\n");
}

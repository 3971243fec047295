#include "server/http/sse.hpp"
#include "tests/support/catch.hpp"

using namespace etna::server;

TEST_CASE("a frame has its fields, one to a line, and an empty line") {
    CHECK(sse::data("{}") == "data: {}\n\n");
    CHECK(sse::data("") == "data: \n\n");
    CHECK(sse::write({.data = "a\nb\r\nc\rd", .event = "e", .id = "7", .retry_ms = 3000}) ==
          "event: e\nid: 7\nretry: 3000\ndata: a\ndata: b\ndata: c\ndata: d\n\n");
    CHECK(sse::comment("keep-alive") == ": keep-alive\n\n");
    CHECK(sse::write({.comments = {"one", "two"}}) == ": one\n: two\n\n");
}

TEST_CASE("an event always has data, and its name stays one line") {
    CHECK(sse::write({.event = "x\ndata: y", .comments = {"z"}}) == "event: xdata: y\n: z\ndata: null\n\n");
}

TEST_CASE("an error joins its comments, and has some") {
    CHECK(sse::error({"a", "b"}, "{}") == "event: error\n: a -- b\ndata: {}\n\n");
    CHECK(sse::error({}, "{}") == "event: error\n: unspecified error\ndata: {}\n\n");
}

// What errors of the core are to a client: the hint goes with what a client can mend, and with nothing else.
#include "server/api_error.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace etna;
using server::api_error;

TEST_CASE("a client's mistakes are told with their hints") {
    for (const ErrorKind kind : {ErrorKind::invalid_argument, ErrorKind::unsupported,
                                 ErrorKind::context_exceeded, ErrorKind::not_found}) {
        CAPTURE(to_string(kind));
        const server::ApiError told = api_error({kind, "it is too long", "shorten it"});
        CHECK((told.status == 400 || told.status == 404));
        CHECK(told.message == "it is too long; shorten it");
        CHECK(api_error({kind, "it is too long"}).message == "it is too long");
    }
}

TEST_CASE("hints for who started the server are not told to clients") {
    for (const std::string hint : {"raise --ctx-size or shorten the prompt", "--parallel 4 does it"})
        CHECK(api_error({ErrorKind::invalid_argument, "it is too long", hint}).message == "it is too long");
    for (const ErrorKind kind : {ErrorKind::io, ErrorKind::corrupt, ErrorKind::internal,
                                 ErrorKind::out_of_memory, ErrorKind::no_device, ErrorKind::device_lost}) {
        CAPTURE(to_string(kind));
        const server::ApiError told = api_error({kind, "it failed", "try another file"});
        CHECK(told.status >= 500);
        CHECK(told.message == "it failed");
    }
    CHECK(api_error({ErrorKind::busy, "8 requests are waiting already", "try later"}).message ==
          "8 requests are waiting already; please try again in 1s");
}

TEST_CASE("a request beyond the server's memory limit is told to retry") {
    CHECK(server::no_memory().status == 503);
    CHECK(server::no_memory().message == "server is at its memory limit (--bodies-max); retry");
}

TEST_CASE("where a request has a member for an option, the hint names that") {
    CHECK(api_error({ErrorKind::unsupported, "`x` cannot be enforced", "leave it out (--lenient-schema)"})
              .message == "`x` cannot be enforced; leave it out (`etna.schema`: \"lenient\")");
}

TEST_CASE("what failed is told without the folders of this machine") {
    CHECK(server::without_folders("/opt/models/x.gguf: it is cut off") == "x.gguf: it is cut off");
    CHECK(server::without_folders("cannot read `/opt/more/y.jinja` (/opt/more)") ==
          "cannot read `y.jinja` (more)");
    CHECK(server::without_folders("a/b, 3 /s, and/or and / too") == "a/b, 3 /s, and/or and / too");
    CHECK(api_error({ErrorKind::io, "/opt/models/x.gguf: gone"}).message == "x.gguf: gone");
}

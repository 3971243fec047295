// Core errors as API errors: hints are included only if the client can act on them.
#include "server/base/api_error.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace etna;
using server::api_error;

TEST_CASE("client errors include their hints") {
    for (const ErrorKind kind : {ErrorKind::invalid_argument, ErrorKind::unsupported,
                                 ErrorKind::context_exceeded, ErrorKind::not_found}) {
        CAPTURE(to_string(kind));
        const server::ApiError error = api_error({kind, "it is too long", "shorten it"});
        CHECK((error.status == 400 || error.status == 404));
        CHECK(error.message == "it is too long; shorten it");
        CHECK(api_error({kind, "it is too long"}).message == "it is too long");
    }
}

TEST_CASE("hints for the operator, and those of server errors, are left out") {
    for (const std::string hint : {"raise --ctx-size or shorten the prompt", "--parallel 4 does it"})
        CHECK(api_error({ErrorKind::invalid_argument, "it is too long", hint}).message == "it is too long");
    for (const ErrorKind kind : {ErrorKind::io, ErrorKind::corrupt, ErrorKind::internal,
                                 ErrorKind::out_of_memory, ErrorKind::no_device, ErrorKind::device_lost}) {
        CAPTURE(to_string(kind));
        const server::ApiError error = api_error({kind, "it failed", "try another file"});
        CHECK(error.status >= 500);
        CHECK(error.message == "it failed");
    }
    CHECK(api_error({ErrorKind::busy, "8 requests are waiting already", "try later"}).message ==
          "8 requests are waiting already; please try again in 1s");
}

TEST_CASE("the memory limit gets 503 with a request to retry") {
    CHECK(server::no_memory().status == 503);
    CHECK(server::no_memory().message == "server is at its memory limit (--bodies-max); retry");
}

TEST_CASE("a hint with --lenient-schema names the request field instead") {
    CHECK(api_error({ErrorKind::unsupported, "`x` cannot be enforced", "leave it out (--lenient-schema)"})
              .message == "`x` cannot be enforced; leave it out (`etna.schema`: \"lenient\")");
}

TEST_CASE("server errors contain no directories") {
    CHECK(server::strip_directories("/opt/models/x.gguf: it is cut off") == "x.gguf: it is cut off");
    CHECK(server::strip_directories("cannot read `/opt/more/y.jinja` (/opt/more)") ==
          "cannot read `y.jinja` (more)");
    CHECK(server::strip_directories("a/b, 3 /s, and/or and / too") == "a/b, 3 /s, and/or and / too");
    CHECK(api_error({ErrorKind::io, "/opt/models/x.gguf: gone"}).message == "x.gguf: gone");
}

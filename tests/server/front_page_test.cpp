// What browsers, monitors and people get who look at the server without a program.
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

using namespace etna;
using test::FakeAnswer;
using test::FakeService;

TEST_CASE("a browser gets a page that says what this is, with and without a key") {
    server::ServiceOptions options;
    options.access.api_keys = {"secret"};
    FakeService service({.service = options});
    const FakeAnswer page = service.get("/");
    CHECK(page.status == 200);
    CHECK(page.body.starts_with("<!doctype html>"));
    CHECK(page.body.find("etna serve") != std::string::npos);
    CHECK(page.body.find("<code>/v1</code>") != std::string::npos);
    CHECK(page.body.find("stories") == std::string::npos); // what is served is for those with a key
}

TEST_CASE("HEAD is answered wherever GET is, as GET is") {
    FakeService service({});
    int routes = 0;
    for (const server::Route& route : server::all_routes({})) {
        if (route.method != "GET")
            continue;
        CAPTURE(route.path);
        std::string path = route.path; // of things that are not there
        for (std::size_t open = path.find('{'); open != std::string::npos; open = path.find('{'))
            path.replace(open, path.find('}') + 1 - open, "none");
        const FakeAnswer whole = service.get(path);
        const FakeAnswer head =
            service.ask({.method = "HEAD", .path = path, .headers = {{"host", "127.0.0.1"}}});
        CHECK(head.status == whole.status);
        CHECK((whole.status == 200 || whole.status == 404));
        ++routes;
    }
    CHECK(routes > 20);
}

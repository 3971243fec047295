// The front page, and HEAD on every GET route.
#include "server/batch/batches.hpp"
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>

using namespace etna;
using test::FakeAnswer;
using test::FakeService;

TEST_CASE("the front page needs no key and names no model") {
    server::ServiceOptions options;
    options.access.api_keys = {"secret"};
    FakeService service({.service = options});
    const FakeAnswer page = service.get("/");
    CHECK(page.status == 200);
    CHECK(page.body.starts_with("<!doctype html>"));
    CHECK(page.body.find("etna serve") != std::string::npos);
    CHECK(page.body.find("<code>/v1</code>") != std::string::npos);
    CHECK(page.body.find("stories") == std::string::npos); // models are listed only with a key
}

TEST_CASE("HEAD gets the status of GET on every route") {
    FakeService::Options options;
    options.service.shows_slots = true;
    FakeService service(options);
    std::string folder = (std::filesystem::temp_directory_path() / "etna-routes-XXXXXX").string();
    REQUIRE(::mkdtemp(folder.data()) != nullptr);
    const auto batches = server::batch::Batches::open(folder, {});
    REQUIRE(batches.has_value());
    service.service().batches = batches->get();
    int routes = 0;
    for (const server::Route& route : server::all_routes({})) {
        if (route.method != "GET")
            continue;
        CAPTURE(route.path);
        std::string path = route.path; // with parameters that do not exist
        for (std::size_t open = path.find('{'); open != std::string::npos; open = path.find('{'))
            path.replace(open, path.find('}') + 1 - open, "none");
        const FakeAnswer get = service.get(path);
        const FakeAnswer head =
            service.ask({.method = "HEAD", .path = path, .headers = {{"host", "127.0.0.1"}}});
        CHECK(head.status == get.status);
        CHECK((get.status == 200 || get.status == 404));
        ++routes;
    }
    CHECK(routes > 20);
    std::filesystem::remove_all(folder);
}

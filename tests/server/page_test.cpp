// The files of the web page: addresses, headers, encodings and versions.
#include "server/page/page_files.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

using namespace etna;
using namespace etna::test;
using server::Headers;
using server::page::page_files;
using server::page::page_hash;
using server::page::PageFile;

namespace {

constexpr const char* browser_accept = "text/html,application/xhtml+xml,*/*;q=0.8";

FakeAnswer ask_page(FakeService& service, const std::string& path, Headers headers = {},
                    const std::string& method = "GET") {
    headers.emplace("host", "127.0.0.1");
    return service.ask({.method = method, .path = path, .headers = std::move(headers)});
}

FakeAnswer ask_document(FakeService& service, Headers headers = {}) {
    headers.emplace("accept", browser_accept);
    return ask_page(service, "/", std::move(headers));
}

const PageFile& page_file(std::string_view name) {
    const auto files = page_files();
    const auto found = std::ranges::find(files, name, &PageFile::name);
    REQUIRE(found != files.end());
    return *found;
}

std::string versioned(std::string_view name) {
    return fmt::format("/page/{}/{}", page_hash(), name);
}

std::string decompressed(const std::string& gzip) {
    constexpr int gzip_window_bits = 15 + 16;
    z_stream stream{};
    REQUIRE(inflateInit2(&stream, gzip_window_bits) == Z_OK);
    std::string plain(4'000'000, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(gzip.data()));
    stream.avail_in = static_cast<uInt>(gzip.size());
    stream.next_out = reinterpret_cast<Bytef*>(plain.data());
    stream.avail_out = static_cast<uInt>(plain.size());
    REQUIRE(inflate(&stream, Z_FINISH) == Z_STREAM_END);
    plain.resize(stream.total_out);
    inflateEnd(&stream);
    return plain;
}

/// The addresses in the attributes `src` and `href`.
std::vector<std::string> addresses_in(const std::string& document) {
    std::vector<std::string> addresses;
    for (const std::string_view attribute : {" src=\"", " href=\""}) {
        for (std::size_t at = document.find(attribute); at != std::string::npos;
             at = document.find(attribute, at)) {
            at += attribute.size();
            addresses.push_back(document.substr(at, document.find('"', at) - at));
        }
    }
    return addresses;
}

} // namespace

TEST_CASE("a browser gets the page with a policy that allows only its own files") {
    FakeService service({});
    const FakeAnswer page = ask_document(service);
    CHECK(page.status == 200);
    CHECK(page.body.starts_with("<!doctype html>"));
    CHECK(page.body.find("@HASH@") == std::string::npos);
    const std::string policy = header_of(page, "content-security-policy");
    for (const char* rule :
         {"default-src 'none'", "script-src 'self'", "style-src 'self'",
          "img-src 'self' data: blob:", "connect-src 'self'", "font-src 'self'", "manifest-src 'self'",
          "worker-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
          "require-trusted-types-for 'script'", "trusted-types etna"}) {
        CAPTURE(rule);
        CHECK(policy.find(rule) != std::string::npos);
    }
    CHECK(policy.find("unsafe") == std::string::npos);
    CHECK(header_of(page, "cache-control") == "no-cache");
    CHECK(header_of(page, "x-content-type-options") == "nosniff");
    CHECK(header_of(page, "referrer-policy") == "no-referrer");
    CHECK(header_of(page, "cross-origin-opener-policy") == "same-origin");
    CHECK(header_of(page, "cross-origin-resource-policy") == "same-origin");
    CHECK(ask_page(service, "/", {{"sec-fetch-mode", "cors"}, {"accept", "*/*"}}).body == page.body);
}

TEST_CASE("a client that takes no HTML gets the plain front page") {
    FakeService service({});
    for (const char* accept : {"", "*/*", "application/json"}) {
        const FakeAnswer page = ask_page(service, "/", {{"accept", accept}});
        CHECK(page.status == 200);
        CHECK(page.body.find("set the base URL") != std::string::npos);
    }
}

TEST_CASE("every address in the page's document is served") {
    FakeService service({});
    const auto addresses = addresses_in(ask_document(service).body);
    CHECK(addresses.size() > 3);
    int versioned_files = 0;
    for (const std::string& address : addresses) {
        CAPTURE(address);
        const FakeAnswer file = ask_page(service, "/" + address);
        CHECK(file.status == 200);
        CHECK(header_of(file, "x-content-type-options") == "nosniff");
        const bool is_versioned = address.find(page_hash()) != std::string::npos;
        versioned_files += is_versioned ? 1 : 0;
        CHECK(header_of(file, "cache-control") ==
              (is_versioned ? "public, max-age=31536000, immutable" : "no-cache"));
    }
    CHECK(versioned_files > 0);
}

TEST_CASE("the page's libraries are modules next to its own files") {
    for (const char* name : {"lib/marked.js", "lib/highlight.js"})
        CHECK(page_file(name).plain.find("export default library;") != std::string_view::npos);
    CHECK(page_file("lib/highlight.js").plain.find(R"(registerLanguage("python")") != std::string_view::npos);
    CHECK(page_file("lib/highlight.js").plain.find(R"(registerLanguage("matlab")") == std::string_view::npos);
}

TEST_CASE("the page's files take less than 150 KB of a network") {
    std::size_t bytes = 0;
    for (const PageFile& file : page_files())
        bytes += file.gzip.size();
    CHECK(bytes > 30'000);
    CHECK(bytes <= 150'000);
}

TEST_CASE("a page file is compressed for a client that accepts gzip") {
    FakeService service({});
    const std::string path = versioned("lib/marked.js");
    const std::string plain(page_file("lib/marked.js").plain);
    for (const char* accepted : {"gzip", "br, GZIP;q=0.5", "*", "x-gzip", "identity, gzip ; q=1"}) {
        CAPTURE(accepted);
        const FakeAnswer file = ask_page(service, path, {{"accept-encoding", accepted}});
        CHECK(header_of(file, "content-encoding") == "gzip");
        CHECK(header_of(file, "vary").find("Accept-Encoding") != std::string::npos);
        CHECK(decompressed(file.body) == plain);
    }
    for (const char* accepted : {"", "identity", "br", "gzip;q=0", "*;q=0", "gzip;q=0, *"}) {
        CAPTURE(accepted);
        const FakeAnswer file = ask_page(service, path, {{"accept-encoding", accepted}});
        CHECK(header_of(file, "content-encoding").empty());
        CHECK(file.body == plain);
    }
}

TEST_CASE("a page file that the client has gets 304 without a body") {
    FakeService service({});
    const std::string tag = header_of(ask_document(service), "etag");
    const std::string gzip_tag = header_of(ask_document(service, {{"accept-encoding", "gzip"}}), "etag");
    CHECK((tag.starts_with('"') && tag.ends_with('"')));
    CHECK(tag != gzip_tag);
    for (const std::string& known : {tag, "W/" + tag, "\"other\", " + tag, std::string("*")}) {
        CAPTURE(known);
        const FakeAnswer same = ask_document(service, {{"if-none-match", known}});
        CHECK((same.status == 304 && same.body.empty()));
        CHECK(header_of(same, "etag") == tag);
        CHECK(header_of(same, "cache-control") == "no-cache");
    }
    CHECK(ask_document(service, {{"if-none-match", gzip_tag}}).status == 200);
    CHECK(ask_document(service, {{"if-none-match", gzip_tag}, {"accept-encoding", "gzip"}}).status == 304);
    CHECK(ask_document(service, {{"if-none-match", "\"other\""}}).status == 200);
}

TEST_CASE("another version of the page, and files with an address of their own, get 404") {
    FakeService service({});
    CHECK(ask_page(service, versioned("main.js")).status == 200);
    for (const std::string& path :
         {std::string("/page/0123456789abcdef/main.js"), versioned("index.html"), versioned("worker.js"),
          versioned("none.js"), versioned("../main.js"), std::string("/page/main.js")}) {
        CAPTURE(path);
        CHECK(ask_page(service, path).status == 404);
    }
}

TEST_CASE("the service worker, manifest and icon have addresses that stay") {
    FakeService service({});
    const FakeAnswer worker = ask_page(service, "/page/worker.js");
    CHECK(worker.status == 200);
    CHECK(header_of(worker, "service-worker-allowed") == "/");
    CHECK(header_of(worker, "cache-control") == "no-cache");
    CHECK(worker.body.find(page_hash()) != std::string::npos);
    CHECK(worker.body.find("@HASH@") == std::string::npos);
    for (const char* path : {"/manifest.webmanifest", "/icon.svg"}) {
        const FakeAnswer file = ask_page(service, path);
        CHECK(file.status == 200);
        CHECK(header_of(file, "cache-control") == "no-cache");
        CHECK(ask_page(service, path, {{"if-none-match", header_of(file, "etag")}}).status == 304);
    }
}

TEST_CASE("HEAD gets the headers of a page file") {
    FakeService service({});
    const std::string path = versioned("main.js");
    const FakeAnswer head = ask_page(service, path, {}, "HEAD");
    const FakeAnswer get = ask_page(service, path);
    CHECK(head.status == 200);
    CHECK(header_of(head, "etag") == header_of(get, "etag"));
}

TEST_CASE("page files need no key, and are not health checks") {
    server::ServiceOptions options;
    options.access.api_keys = {"secret"};
    FakeService service({.service = options});
    CHECK(ask_document(service).status == 200);
    for (const std::string& path : {versioned("main.js"), std::string("/page/worker.js")}) {
        CHECK(ask_page(service, path).status == 200);
        CHECK(!service.router().is_health_check({.method = "GET", .path = path}));
    }
    CHECK(ask_page(service, "/page/state").status == 401);
    CHECK(ask_page(service, "/page/requests/none").status == 401);
}

TEST_CASE("without the page, browsers get the plain front page, and nothing is below /page") {
    server::ServiceOptions options;
    options.has_page = false;
    FakeService service({.service = options});
    CHECK(ask_document(service).body.find("set the base URL") != std::string::npos);
    for (const std::string& path :
         {versioned("main.js"), std::string("/page/worker.js"), std::string("/page/state"),
          std::string("/manifest.webmanifest"), std::string("/icon.svg")}) {
        CAPTURE(path);
        CHECK(ask_page(service, path).status == 404);
    }
    for (const server::Route& route : server::all_routes(options))
        CHECK(!route.path.starts_with("/page"));
}

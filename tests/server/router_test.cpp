// Routing, common checks and request log lines.

#include "core/base/json.hpp"
#include "server/app/router.hpp"
#include "server/base/json.hpp"
#include "tests/support/catch.hpp"

#include <vector>

using namespace etna;
using namespace etna::server;

namespace {

constexpr const char* problem = "something broke";

ApiResult<HttpReply> method_reply(Service& /*service*/, const HttpRequest& request,
                                  const RoutedRequest& /*routed*/) {
    return HttpReply{.body = request.method};
}

/// A stream whose final status is the request's body.
ApiResult<HttpReply> streamed(Service& /*service*/, const HttpRequest& request,
                              const RoutedRequest& /*routed*/) {
    HttpReply reply;
    reply.stream = [](HttpWriter& writer) { writer.write(problem); };
    reply.final_log = [status = request.body] {
        return AnswerLog{.final_status = std::stoi(status), .model = "demo", .prompt_tokens = 7};
    };
    return reply;
}

class Sink : public HttpWriter {
public:
    bool write(std::string_view bytes) override { return text += bytes, true; }
    PeerState peer() override { return PeerState::open; }

    std::string text;
};

class RouterFixture {
public:
    explicit RouterFixture(LogFormat format) : models_({}, [](const auto&, uint64_t) { return Error(); }) {
        service_.options.log_format = format;
        service_.state = ServiceState::ready;
        service_.log = [this](std::string_view line) { lines.emplace_back(line); };
    }

    HttpReply ask(const std::string& method, const std::string& path, const Headers& headers = {},
                  const std::string& body = "") {
        HttpReply reply = router_.answer({.method = method, .path = path, .headers = headers, .body = body});
        Sink sink;
        if (reply.stream)
            reply.stream(sink);
        return reply;
    }
    [[nodiscard]] const Router& router() const { return router_; }

    std::vector<std::string> lines; ///< log lines

private:
    Metrics metrics_;
    Models models_;
    Service service_{{.options = {}, .models = models_, .metrics = metrics_}};
    Router router_{service_,
                   {{"GET", "/open", "", method_reply, RouteAccess::open},
                    {"GET", "/files/{file}", "", method_reply, RouteAccess::open_large},
                    {"GET", "/both", "", method_reply},
                    {"POST", "/both", "", method_reply},
                    {"POST", "/stream", "", streamed}}};
};

} // namespace

TEST_CASE("the log has the outcome of a stream after its head") {
    RouterFixture routed(LogFormat::json);
    for (const auto& [status, outcome] :
         {std::pair("200", "ok"), std::pair("503", "error"), std::pair("499", "cancelled")}) {
        routed.ask("POST", "/stream", {}, status);
        const Json line = etna::parse_json(routed.lines.back());
        CHECK(line["status"] == 200);
        CHECK(line["outcome"] == outcome);
    }
    routed.ask("GET", "/none");
    CHECK(etna::parse_json(routed.lines.back())["outcome"] == "error");
    RouterFixture in_text(LogFormat::text);
    in_text.ask("POST", "/stream", {}, "503");
    CHECK(in_text.lines.back().find(" POST /stream 200 error ") != std::string::npos);
}

TEST_CASE("the log has the error code of a refusal, and the model and tokens of an answer") {
    RouterFixture routed(LogFormat::json);
    routed.ask("GET", "/none");
    Json line = etna::parse_json(routed.lines.back());
    CHECK(line["error"] == "unknown_url");
    CHECK(!line.contains("model"));
    routed.ask("POST", "/stream", {}, "200");
    line = etna::parse_json(routed.lines.back());
    CHECK(line["model"] == "demo");
    CHECK(line["prompt_tokens"] == 7);
    CHECK(!line.contains("completion_tokens"));
    CHECK(!line.contains("error"));
    RouterFixture in_text(LogFormat::text);
    in_text.ask("GET", "/none", {{"x-request-id", "id"}});
    CHECK(in_text.lines.back().ends_with(" id error=unknown_url"));
    in_text.ask("POST", "/stream", {{"x-request-id", "id"}}, "200");
    CHECK(in_text.lines.back().ends_with(" id model=demo prompt_tokens=7"));
}

TEST_CASE("the log says why a request gets 403") {
    RouterFixture routed(LogFormat::json);
    CHECK(routed.ask("GET", "/both", {{"host", "host.docker.internal:8080"}}).status == 403);
    const std::string host = etna::parse_json(routed.lines.back())["problem"];
    CHECK(host.find("`host.docker.internal`") != std::string::npos);
    CHECK(host.find("--allowed-host") != std::string::npos);
    CHECK(routed.ask("GET", "/both", {{"host", "localhost"}, {"origin", "https://app.example"}}).status ==
          403);
    const std::string origin = etna::parse_json(routed.lines.back())["problem"];
    CHECK(origin.find("`https://app.example`") != std::string::npos);
    CHECK(origin.find("--cors") != std::string::npos);
    routed.ask("GET", "/both", {{"host", "localhost"}});
    CHECK(!etna::parse_json(routed.lines.back()).contains("problem"));
    RouterFixture in_text(LogFormat::text);
    in_text.ask("GET", "/both", {{"host", "evil.example\n"}});
    CHECK(in_text.lines.back().find(": Host `evil.example") != std::string::npos);
    CHECK(in_text.lines.back().find('\n') == std::string::npos);
}

TEST_CASE("HEAD is accepted with GET, and listed in Allow") {
    RouterFixture routed(LogFormat::text);
    CHECK(routed.ask("HEAD", "/open").body == "HEAD");
    const HttpReply refused = routed.ask("PUT", "/both");
    CHECK(refused.status == 405);
    CHECK(refused.headers.at("allow") == "GET, HEAD, POST");
    CHECK(routed.ask("HEAD", "/stream").headers.at("allow") == "POST");
}

TEST_CASE("encoded and multipart bodies get 415; others are accepted whatever their type") {
    RouterFixture routed(LogFormat::text);
    const HttpReply packed = routed.ask("POST", "/both", {{"content-encoding", "GZip"}});
    CHECK(packed.status == 415);
    CHECK(packed.body.find("Content-Encoding gzip") != std::string::npos);
    CHECK(packed.headers.contains("x-request-id"));
    CHECK(routed.ask("POST", "/both", {{"content-encoding", "identity"}}).status == 200);
    const HttpReply parts =
        routed.ask("POST", "/both", {{"content-type", "Multipart/Form-Data; boundary=x"}});
    CHECK(parts.status == 415);
    CHECK(parts.body.find("multipart/form-data") != std::string::npos);
    for (const char* type : {"application/x-www-form-urlencoded", "application/json", "text/plain", ""})
        CHECK(routed.ask("POST", "/both", {{"content-type", type}}).status == 200);
}

TEST_CASE("only requests for open routes are health checks") {
    const RouterFixture routed(LogFormat::text);
    CHECK(routed.router().is_health_check({.method = "GET", .path = "/open"}));
    CHECK(routed.router().is_health_check({.method = "HEAD", .path = "/open"}));
    CHECK(!routed.router().is_health_check({.method = "POST", .path = "/open"}));
    CHECK(!routed.router().is_health_check({.method = "GET", .path = "/both"}));
    CHECK(!routed.router().is_health_check({.method = "GET", .path = "/files/style/base.css"}));
}

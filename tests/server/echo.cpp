#include "tests/server/echo.hpp"

#include "tests/support/catch.hpp"

#include <stdexcept>
#include <utility>

namespace etna::test {

using namespace etna::server;
using namespace std::chrono_literals;

Echo::Echo(const ConnectionOptions& options, std::size_t body_bytes_max) {
    ConnectionHandlers handlers = {
        .body_bytes_max = [=](const HttpRequest&) { return body_bytes_max; },
        .is_health_check = [](const HttpRequest& request) { return request.path == "/live"; },
        .client_of =
            [](const HttpRequest& request) {
                return std::hash<std::string_view>()(request.header("x-client"));
            },
        .answer = [this](const HttpRequest& request) { return answer(request); },
        .refuse =
            [](const Refusal& refusal) {
                return HttpResponse{
                    .status = refusal.status,
                    .headers = {{"x-seen", refusal.request.method + " " + refusal.request.path + " " +
                                               std::string(refusal.request.header("x-request-id"))}},
                    .content_type = "text/plain",
                    .body = "refused: " + refusal.problem};
            }};
    auto opened = Listener::open(options, std::move(handlers));
    REQUIRE(opened.has_value());
    listener_ = std::move(*opened);
    thread_ = std::thread([this] { listener_->run(); });
}

Echo::~Echo() {
    may_go_on = true;
    listener_->stop();
    thread_.join();
}

HttpResponse Echo::answer(const HttpRequest& request) {
    if (request.path == "/throw")
        throw std::runtime_error("on purpose");
    if (request.path == "/flood")
        return {.content_type = "text/plain", .stream = [this](HttpWriter& writer) { flood(writer); }};
    if (request.path == "/stream")
        return {.content_type = "text/plain", .stream = [this](HttpWriter& writer) { stream(writer); }};
    if (request.path == "/events")
        return {.content_type = "text/event-stream; charset=utf-8",
                .stream = [](HttpWriter& writer) { writer.write("data: x\n\n"); }};
    if (request.path == "/claim")
        return {.content_type = "text/plain",
                .body = request.reserve_memory(std::stoull(request.body)) ? "granted" : "denied"};
    if (request.path == "/stuck") {
        ++waiting;
        (void)eventually([&] { return may_go_on.load(); }, 60s);
    }
    if (request.path == "/throw/late")
        return {.content_type = "text/plain", .stream = [](HttpWriter& writer) {
                    writer.write("one ");
                    throw std::runtime_error("on purpose");
                }};
    if (request.path == "/header")
        return {.content_type = "text/plain", .body = std::string(request.header("x-shown"))};
    if (request.path == "/wait") {
        ++waiting;
        (void)eventually([&] { return may_go_on || request.is_client_gone(); }, 60s);
        seen_gone += request.is_client_gone() ? 1 : 0;
    }
    return {.content_type = "text/plain", .body = request.method + " " + request.path + " " + request.body};
}

void Echo::flood(HttpWriter& writer) {
    const std::string piece(1'000'000, 'x');
    while (!may_go_on && writer.write(piece)) {
    }
    ++seen_gone;
}

void Echo::stream(HttpWriter& writer) {
    bool is_connected = writer.write("one ");
    ++waiting;
    (void)eventually(
        [&] {
            if (is_connected && !may_go_on)
                is_connected = writer.write(".");
            return !is_connected || may_go_on;
        },
        60s);
    seen_gone += is_connected ? 0 : 1;
    writer.write("two");
}

bool contains(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

} // namespace etna::test

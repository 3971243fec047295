// A server that listens on a second port.
#include "server/app/server.hpp"
#include "tests/server/echo.hpp"
#include "tests/server/raw_client.hpp"
#include "tests/support/catch.hpp"

#include <atomic>
#include <optional>
#include <string>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace etna;
using namespace etna::server;
using namespace std::chrono_literals;
using etna::test::contains;
using etna::test::RawClient;

namespace {

ServerOptions with_second_port(std::optional<int> port) {
    ServerOptions options;
    options.drain_timeout = 200ms;
    options.second_port = port;
    return options;
}

Result<std::unique_ptr<Server>> open_server(std::optional<int> second_port) {
    static Models none({}, {});
    return Server::open(with_second_port(second_port), none, [](std::string_view) {});
}

/// A port that was free a moment ago.
int free_port() {
    const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
    REQUIRE(descriptor >= 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(address);
    REQUIRE(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), bytes) == 0);
    REQUIRE(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
    ::close(descriptor);
    return ntohs(address.sin_port);
}

} // namespace

TEST_CASE("a server answers on both of its ports until it ends") {
    const int second = free_port();
    auto server = open_server(second);
    REQUIRE(server.has_value());
    REQUIRE((*server)->port() != second);
    std::atomic<bool> should_stop{false};
    ShutdownResult end = ShutdownResult::abandoned;
    std::thread thread([&] { end = (*server)->run([&] { return should_stop.load(); }); });
    RawClient idle(second);
    idle.send("GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n");
    CHECK(contains(idle.read_until("}"), "200 OK"));
    for (const int port : {(*server)->port(), second}) {
        RawClient client(port);
        client.send("GET /api/version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        CHECK(contains(client.read_all(), "200 OK"));
    }
    should_stop = true;
    thread.join();
    CHECK(end == ShutdownResult::clean);
    CHECK(idle.is_closed(5s));
}

TEST_CASE("a server whose second port is in use does not start, and names the port") {
    const auto other = open_server(std::nullopt);
    REQUIRE(other.has_value());
    const auto server = open_server((*other)->port());
    REQUIRE_FALSE(server.has_value());
    CHECK(server.error().kind == ErrorKind::io);
    CHECK(contains(server.error().message, std::to_string((*other)->port())));
    CHECK(contains(server.error().hint, "--api ollama"));
}

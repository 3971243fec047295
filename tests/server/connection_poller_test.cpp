#include "server/http/connection_poller.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/eventually.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include <sys/socket.h>

using namespace etna::server;
using namespace std::chrono_literals;

namespace {

/// Two connected sockets.
std::array<Socket, 2> connected() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
    return {Socket(ends[0]), Socket(ends[1])};
}

} // namespace

TEST_CASE("stop() takes effect while the poller thread is busy") {
    constexpr auto busy = 100ms;
    constexpr std::string_view request = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
    std::atomic<int> started{0};
    auto poller = ConnectionPoller::create(
        {.limits = {.header_bytes_max = 1000,
                    .body_bytes_max = [](const HttpRequest&) { return std::size_t{0}; }},
         .memory = std::make_shared<MemoryBudget>(SIZE_MAX),
         .header_timeout = 20s,
         .idle_timeout = 20s,
         .body_timeout = 20s},
        [&](Socket, ReceivedRequest) {
            ++started;
            std::this_thread::sleep_for(busy); // the work of a request
        },
        [](Socket, const Refusal&) {});
    REQUIRE(poller.has_value());
    auto first = connected();
    auto second = connected();
    auto third = connected();
    const auto send_request = [&](const Socket& client) {
        REQUIRE(::send(client.descriptor(), request.data(), request.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(request.size()));
    };
    const auto until_started = [&](int count) {
        REQUIRE(test::eventually([&] { return started >= count; }));
    };
    (*poller)->add(std::move(first[0]), {});
    (*poller)->add(std::move(second[0]), {});
    std::this_thread::sleep_for(busy); // their wake-ups have been consumed
    send_request(first[1]);
    until_started(1);
    // Both are seen when the first is done: a request, then a wake-up from before the stop.
    send_request(second[1]);
    (*poller)->add(std::move(third[0]), {});
    until_started(2);
    const auto begin = std::chrono::steady_clock::now();
    (*poller)->stop();
    CHECK(std::chrono::steady_clock::now() - begin < 10s); // a lost stop would wait for a deadline
}

#include "server/http/parking.hpp"
#include "tests/support/catch.hpp"

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

/// Two connected ends.
std::array<Socket, 2> connected() {
    std::array<int, 2> ends{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0);
    return {Socket(ends[0]), Socket(ends[1])};
}

} // namespace

TEST_CASE("a stop is not lost while the watching thread is busy") {
    constexpr auto busy = 100ms;
    constexpr std::string_view request = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
    std::atomic<int> begun{0};
    auto parking = Parking::create(
        {.bounds = {.header_bytes_max = 1000,
                    .body_bytes_max = [](const HttpRequest&) { return std::size_t{0}; }},
         .memory = std::make_shared<MemoryTotal>(SIZE_MAX),
         .header_timeout = 20s,
         .idle_timeout = 20s,
         .body_timeout = 20s},
        [&](Socket, Arrival) {
            ++begun;
            std::this_thread::sleep_for(busy);
        },
        [](Socket, const Refusal&) {});
    REQUIRE(parking.has_value());
    auto first = connected();
    auto second = connected();
    auto third = connected();
    const auto ask = [&](const Socket& client) {
        REQUIRE(::send(client.descriptor(), request.data(), request.size(), MSG_NOSIGNAL) ==
                static_cast<ssize_t>(request.size()));
    };
    const auto until_begun = [&](int count) {
        for (int waited_ms = 0; begun < count && waited_ms < 10'000; ++waited_ms)
            std::this_thread::sleep_for(1ms);
        REQUIRE(begun >= count);
    };
    (*parking)->park(std::move(first[0]), {});
    (*parking)->park(std::move(second[0]), {});
    std::this_thread::sleep_for(busy); // the wake-ups of these have been taken
    ask(first[1]);
    until_begun(1);
    // Seen together when the first is done: a request, and behind it a wake-up from before the stop.
    ask(second[1]);
    (*parking)->park(std::move(third[0]), {});
    until_begun(2);
    const auto begin = std::chrono::steady_clock::now();
    (*parking)->stop();
    CHECK(std::chrono::steady_clock::now() - begin < 10s); // a lost one waits for a deadline
}

#pragma once

#include "server/http/connection.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace etna::test {

/// A server that answers POST with the body, GET /stream with pieces, GET /flood with more than fits
/// anywhere, GET /wait when it may or its client is gone, GET /stuck when it may, GET /throw not at all,
/// GET /throw/late after a piece, GET /header with the header x-shown, and the rest with the path. GET /live
/// is vital. GET /events is a short stream of events; POST /claim wants as much memory as the body says. Ends
/// with the object.
class Echo {
public:
    explicit Echo(const server::ConnectionOptions& options = {}, std::size_t body_bytes_max = 1000);
    Echo(const Echo&) = delete;
    Echo& operator=(const Echo&) = delete;
    ~Echo();

    [[nodiscard]] int port() const { return listener_->port(); }
    [[nodiscard]] server::Listener& listener() const { return *listener_; }

    std::atomic<bool> may_go_on{false}; ///< lets what waits, streams or floods end
    std::atomic<int> waiting{0};        ///< handlers that have begun to wait or to stream
    std::atomic<int> seen_gone{0};      ///< handlers that found their client gone

private:
    server::HttpReply answer(const server::HttpRequest& request);
    void flood(server::HttpWriter& writer);
    void stream(server::HttpWriter& writer);

    std::unique_ptr<server::Listener> listener_;
    std::thread thread_;
};

bool contains(const std::string& text, std::string_view part);

/// Whether `condition` holds within `limit`; asks every millisecond.
template <class Condition>
bool eventually(Condition condition, std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!condition()) { // not asked again once it held: it may hold for a moment only
        if (std::chrono::steady_clock::now() >= end)
            return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
}

} // namespace etna::test

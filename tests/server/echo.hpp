#pragma once

#include "server/http/listener.hpp"
#include "tests/support/eventually.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

namespace etna::test {

/// A server for tests of connections; stops on destruction. It answers with method, path and body, except:
/// /stream streams pieces, /flood streams more than any buffer holds, /events is a short event stream, /wait
/// waits for may_go_on or a disconnect, /stuck only for may_go_on, /throw throws, /throw/late throws after a
/// piece, /header returns the header x-shown, /claim reserves as many bytes as its body says. /live is a
/// health check.
class Echo {
public:
    explicit Echo(const server::ConnectionOptions& options = {}, std::size_t body_bytes_max = 1000);
    Echo(const Echo&) = delete;
    Echo& operator=(const Echo&) = delete;
    ~Echo();

    [[nodiscard]] int port() const { return listener_->port(); }
    [[nodiscard]] server::Listener& listener() const { return *listener_; }

    std::atomic<bool> may_go_on{false}; ///< ends waiting, streaming and flooding handlers
    std::atomic<int> waiting{0};        ///< handlers that have started to wait or stream
    std::atomic<int> seen_gone{0};      ///< handlers whose client disconnected

private:
    server::HttpResponse answer(const server::HttpRequest& request);
    void flood(server::HttpWriter& writer);
    void stream(server::HttpWriter& writer);

    std::unique_ptr<server::Listener> listener_;
    std::thread thread_;
};

bool contains(const std::string& text, std::string_view part);

} // namespace etna::test

#pragma once

#include "core/base/result.hpp"
#include "server/http/socket.hpp"

#include <atomic>
#include <functional>
#include <string>

namespace etna::server {

/// Listens on an address, and passes new connections on. Thread-safe, except for bind().
class Acceptor {
public:
    /// `on_connection` takes a new connection, on the accepting thread. It is not called after stop(). A
    /// connection for which it runs out of memory is closed.
    explicit Acceptor(std::function<void(Socket socket)> on_connection);
    Acceptor(const Acceptor&) = delete;
    Acceptor& operator=(const Acceptor&) = delete;
    ~Acceptor();

    /// Binds to the first address of the host that is free, and starts listening. Port 0: any free port.
    /// Returns the bound port. Errors: io (the address, with the system's message).
    Result<int> bind(const std::string& host, int port);

    /// Accepts connections until stop(), then closes the listening socket. Blocks.
    void run();

    /// Makes run() return, immediately if it is called later. Does not block. Idempotent.
    void stop();

private:
    void accept_one();
    void wait_for_resources() const;
    void close_listening();

    const std::function<void(Socket socket)> on_connection_;
    int listening_ = -1; ///< descriptor; -1: none
    int stop_event_;     ///< an eventfd that is readable after stop(); -1: the system has none left
    std::atomic<bool> is_stopping_{false};
};

} // namespace etna::server

#pragma once

#include "core/base/result.hpp"
#include "server/http/socket.hpp"

#include <functional>
#include <memory>
#include <string>

namespace etna::server {

/// Accepts connections with cpp-httplib's server, and passes their sockets on: idle connections cost no
/// thread, and a client's leaving is noticed while its answer is computed, which that server's own
/// connections do not offer. Only acceptor.cpp includes the library. Thread-safe.
class Acceptor {
public:
    /// `on_connection` takes a new connection, on the accepting thread. It is not called after stop().
    explicit Acceptor(std::function<void(Socket socket)> on_connection);
    Acceptor(const Acceptor&) = delete;
    Acceptor& operator=(const Acceptor&) = delete;
    ~Acceptor();

    /// Binds and starts listening. Port 0: any free port. Returns the bound port. Errors: io (the address,
    /// with the system's message).
    Result<int> bind(const std::string& host, int port);

    /// Accepts connections until stop(). Blocks.
    void run();

    /// Makes run() return, immediately if it is called later. Idempotent.
    void stop();

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

} // namespace etna::server

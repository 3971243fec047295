#pragma once

#include "core/base/result.hpp"
#include "server/http/incoming_request.hpp"
#include "server/http/socket.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace etna::server {

/// cpp-httplib behind an interface of this room: accepts connections, and serializes one response at a time.
/// Only httplib_adapter.cpp includes the library. Thread-safe.
class HttplibAdapter {
public:
    struct Options {
        std::chrono::milliseconds write_timeout{}; ///< without progress by the client
        std::chrono::milliseconds idle_timeout{};  ///< for the Keep-Alive header
    };

    struct Hooks {
        /// Takes a new connection, on the accepting thread. Not called after stop().
        std::function<void(Socket socket)> on_connection;
        std::function<HttpReply(const HttpRequest& request)> answer;
        /// The response if the request cannot be answered.
        std::function<HttpReply(const Refusal& refusal)> refuse;
    };

    HttplibAdapter(const Options& options, Hooks hooks);
    HttplibAdapter(const HttplibAdapter&) = delete;
    HttplibAdapter& operator=(const HttplibAdapter&) = delete;
    ~HttplibAdapter();

    /// Binds and starts listening. Port 0: any free port. Returns the bound port. Errors: io (the address,
    /// with the system's message).
    Result<int> bind(const std::string& host, int port);

    /// Accepts connections until stop(). Blocks.
    void run();

    /// Makes run() return, immediately if it is called later. Idempotent.
    void stop();

    /// A connection that stays open after a response.
    struct KeptAlive {
        Socket socket;
        std::string pipelined; ///< the bytes that followed the request
    };

    /// Answers the request on its connection. The request's memory is charged until its response exists; a
    /// non-streamed response's until it is sent. Blocks. Empty: the connection is closed.
    std::optional<KeptAlive> serve(Socket socket, ReceivedRequest request);

    /// Breaks the connections of running serve() calls.
    void abort();

    /// "Bad Request" for 400.
    static const char* reason_phrase(int status);

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

} // namespace etna::server

#pragma once

#include "server/http/http.hpp"
#include "server/http/incoming_request.hpp"
#include "server/http/socket.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace etna::server {

/// Status line and headers of a response, with the empty line that ends them. A reply without a stream has a
/// Content-Length, a stream Transfer-Encoding: chunked, unless the request is of HTTP/1.0. A header whose
/// name or value could end the line is left out. Source: RFC 9112.
struct ResponseFraming {
    bool is_http_1_0 = false; ///< the request's version
    bool closes = false;      ///< the connection closes after the response
    std::chrono::seconds idle_timeout{0};
};
std::string response_head(const HttpResponse& response, const ResponseFraming& framing);

/// "Bad Request" for 400; "Unknown" for a status that no RFC names.
std::string_view reason_phrase(int status);

/// One request on a connection and its response. Its members but shut_down() are for one thread.
class Exchange {
public:
    struct Options {
        std::chrono::milliseconds write_timeout{}; ///< without progress by the client
        std::chrono::milliseconds idle_timeout{};  ///< for the Keep-Alive header
    };

    struct Handlers {
        std::function<HttpResponse(const HttpRequest& request)> answer;
        /// The response if `answer` fails.
        std::function<HttpResponse(const Refusal& refusal)> refuse;
    };

    /// A connection that stays open after a response.
    struct KeptAlive {
        Socket socket;
        std::string pipelined; ///< the bytes that followed the request
    };

    /// Borrows `handlers`.
    Exchange(Socket socket, ReceivedRequest request, const Options& options, const Handlers& handlers);

    /// Answers the request. Its memory is charged until its response exists; a non-streamed response's until
    /// it is sent. Blocks. `is_last` returns, once the response exists, whether the connection closes after
    /// it. Returns whether it stays open. May be called once.
    bool run(const std::function<bool()>& is_last);

    /// Precondition: run() has returned true, and shut_down() will not be called again.
    [[nodiscard]] KeptAlive take_socket() {
        return {.socket = std::move(socket_), .pipelined = std::move(pipelined_)};
    }

    /// Breaks the connection. Thread-safe.
    void shut_down() { socket_.shut_down(); }

private:
    class Writer;

    HttpResponse answer();
    HttpResponse refuse(const Refusal& refusal);
    bool send(const HttpResponse& response);
    bool send_stream(const HttpResponse& response, const std::string& head);
    bool write(std::string_view bytes);
    bool is_client_gone();
    [[nodiscard]] PeerState peer() const { return is_broken_ ? PeerState::gone : socket_.peer(); }

    Socket socket_;
    HttpRequest request_;
    HttpRequest summary_; ///< without its body
    std::string pipelined_;
    std::shared_ptr<MemoryReservation> memory_; ///< that of a non-streamed response
    const Options options_;
    const Handlers* handlers_; ///< borrowed
    const bool is_http_1_0_;
    const bool is_head_;
    bool closes_;
    bool may_probe_;
    bool is_broken_ = false;
};

} // namespace etna::server

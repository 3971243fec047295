#pragma once

#include "core/base/result.hpp"
#include "server/http.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace etna::server {

/// Bounds of what a peer may ask of a connection before a handler sees it. Fixed are 100 headers, 8 KiB for
/// one of them, and 2 KiB for the target of a request.
struct ConnectionOptions {
    std::string host = "127.0.0.1";
    int port = 0;                          ///< 0: any that is free
    std::filesystem::path tls_certificate; ///< see TlsContext::load(); empty: no TLS
    std::filesystem::path tls_key;         ///< empty exactly when the certificate is
    std::size_t connections_max = 4096;    ///< open sockets, idle ones too; beyond, new ones get 503
    std::size_t handlers_max = 512;        ///< requests at work; beyond, they get 503
    std::size_t header_bytes_max = 64 * 1024;
    /// From a head's first byte to its last; and before that, for the handshake of TLS.
    std::chrono::milliseconds header_timeout{10'000};
    std::chrono::milliseconds idle_timeout{75'000};  ///< between two requests
    std::chrono::milliseconds body_timeout{30'000};  ///< without a byte of a body that is to come
    std::chrono::milliseconds write_timeout{60'000}; ///< without the client reading a byte
};

/// What the server above does with requests. Called on many threads at once.
struct ConnectionHandlers {
    /// How many bytes a body may have, by method and path; asked before it is read.
    std::function<std::size_t(const HttpRequest& head)> body_bytes_max;
    std::function<HttpReply(const HttpRequest& request)> answer;
    /// The answer to what is no request or goes beyond a bound: status and one clause for people.
    std::function<HttpReply(int status, std::string_view problem)> refuse;
};

/// Takes connections and speaks HTTP/1.1 on them, over TLS or without, by cpp-httplib; the one file that
/// knows the library. A connection between two requests, or in the middle of a handshake or a request's head,
/// costs a descriptor and no thread. Who fails at a handshake, or is sent away before it is
/// done, gets no answer.
class Listener {
public:
    /// Binds, and begins to take connections; those wait for run(). Errors: io (the address, with what the
    /// system said), those of TlsContext::load().
    static Result<std::unique_ptr<Listener>> open(const ConnectionOptions& options,
                                                  ConnectionHandlers handlers);

    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    ~Listener();

    /// The port that was bound.
    [[nodiscard]] int port() const;

    /// Serves until stop(). Blocking.
    void run();

    /// Takes no more connections, closes those that have no request at work, and lets run() return when the
    /// others are done. Thread-safe, idempotent.
    void stop();

    /// Breaks the connections that are still at work: for the end of a drain.
    void abort();

    /// Open connections and requests at work, now.
    [[nodiscard]] std::size_t connections() const;
    [[nodiscard]] std::size_t requests() const;

private:
    class Implementation;
    explicit Listener(std::unique_ptr<Implementation> implementation);
    std::unique_ptr<Implementation> implementation_;
};

} // namespace etna::server

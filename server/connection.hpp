#pragma once

#include "core/base/result.hpp"
#include "server/http.hpp"
#include "server/request_head.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace etna::server {

/// Bounds of what a peer may ask of a connection before a handler sees it; those of a single header and of
/// the target are in server/request_head.
struct ConnectionOptions {
    std::string host = "127.0.0.1";
    int port = 0;                          ///< 0: any that is free
    std::filesystem::path tls_certificate; ///< see TlsContext::load(); empty: no TLS
    std::filesystem::path tls_key;         ///< empty exactly when the certificate is
    /// Open sockets, idle ones too. One more takes the place of the idlest: of its own network's where that
    /// has `connections_per_address_max` which wait, else of the network's that has the most. It gets 503
    /// where all are at work.
    std::size_t connections_max = 4096;
    std::size_t connections_per_address_max = 2048; ///< see Socket::remote_network()
    std::size_t handlers_max = 512;                 ///< requests at work; beyond, they get 503
    std::size_t vital_handlers_max = 8;             ///< beyond those, for requests that are vital
    std::size_t header_bytes_max = 64 * 1024;
    /// What all requests together may hold: bodies on their way and, parsed, until they are answered, what is
    /// made of them, and long answers until they are sent; but for the first 64 KiB of each. Beyond, requests
    /// get 503.
    std::size_t bodies_bytes_max = 1024 * 1024 * 1024;
    /// From a head's first byte to its last; and before that, for the handshake of TLS.
    std::chrono::milliseconds header_timeout{10'000};
    std::chrono::milliseconds idle_timeout{75'000}; ///< between two requests
    /// From the end of a head to that of its body; and a second more for every `body_bytes_per_s` that have
    /// come: so slow a large body may be, and who sends less is not waited for.
    std::chrono::milliseconds body_timeout{30'000};
    std::size_t body_bytes_per_s = 16 * 1024;
    std::chrono::milliseconds write_timeout{60'000}; ///< without the client reading a byte
};

/// What the server above does with requests. Called on many threads at once.
struct ConnectionHandlers {
    /// How many bytes a body may have, by method and path; asked before it is read. Must not block, nor must
    /// the next.
    std::function<std::size_t(const HttpRequest& head)> body_bytes_max;
    /// Whether a request is to be answered even when all handlers are at work, and soon.
    std::function<bool(const HttpRequest& request)> is_vital = [](const HttpRequest&) { return false; };
    std::function<HttpReply(const HttpRequest& request)> answer;
    /// The answer to what is no request or goes beyond a bound, with what is known of the request.
    std::function<HttpReply(const Refusal& refusal)> refuse;
};

/// Takes connections and speaks HTTP/1.1 on them, over TLS or without, by cpp-httplib; the one file that
/// knows the library. A connection between two requests, or in the middle of a handshake or of a request,
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

    /// Takes no more connections, closes those that have no request at work, and lets run() return, as soon
    /// as it is called where it has not been yet. Thread-safe, idempotent.
    void stop();

    /// Blocks until no request is at work, or `limit` has passed. False where some are: to destroy the object
    /// waits for them. Thread-safe.
    bool wait(std::chrono::milliseconds limit);

    /// Breaks the connections that are still at work: for the end of a drain. Thread-safe.
    void abort();

    /// Gives memory back to the system that requests have let go of: now and then where it is much, and what
    /// is left once no request has been at work for a second. To be called some times a second, by one
    /// thread. May take some milliseconds.
    void tidy();

    /// Open connections and requests at work, now.
    [[nodiscard]] std::size_t connections() const;
    [[nodiscard]] std::size_t requests() const;

private:
    class Implementation;
    explicit Listener(std::unique_ptr<Implementation> implementation);
    std::unique_ptr<Implementation> implementation_;
};

} // namespace etna::server

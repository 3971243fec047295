#pragma once

#include "core/base/result.hpp"
#include "server/base/memory_budget.hpp"
#include "server/http/http.hpp"
#include "server/http/request_head.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace etna::server {

/// The bind address, TLS files and the limits that apply before a handler sees a request; the limits for a
/// single header and the target are in server/http/request_head.
struct ConnectionOptions {
    std::string host = "127.0.0.1";
    int port = 0;                          ///< 0: any free port
    std::filesystem::path tls_certificate; ///< see TlsContext::load(); empty: no TLS
    std::filesystem::path tls_key;         ///< empty if and only if the certificate is
    /// Open sockets, idle ones included. At the limit, a new connection replaces the longest-idle one: of its
    /// own network if that has `connections_per_address_max` idle ones, else of the network with the most. It
    /// gets 503 if all connections have running requests.
    std::size_t connections_max = 4096;
    std::size_t connections_per_address_max = 2048; ///< see Socket::remote_network()
    /// Concurrent requests; more get 503, except those of clients with few, see Workers.
    std::size_t handlers_max = 512;
    std::size_t reserved_handlers_max = 8; ///< additional handlers, for health checks only
    std::size_t header_bytes_max = 64 * 1024;
    /// Memory budget of all requests together: bodies in transit and, parsed, until they are answered, data
    /// derived from them, and long responses until they are sent; the first 64 KiB of each are not counted.
    /// Requests beyond it get 503.
    std::size_t bodies_bytes_max = 1024 * 1024 * 1024;
    /// The memory budget of several listeners; null: the listener has its own, of `bodies_bytes_max`.
    std::shared_ptr<MemoryBudget> memory = {};
    /// From the first byte of a head to its last; separately, for the TLS handshake before it.
    std::chrono::milliseconds header_timeout{10'000};
    std::chrono::milliseconds idle_timeout{75'000}; ///< between requests
    /// From the end of the head to the end of the body, plus one second for every `body_bytes_per_s` bytes
    /// received: the minimum upload rate. Slower clients get 408.
    std::chrono::milliseconds body_timeout{30'000};
    std::size_t body_bytes_per_s = 16 * 1024;
    std::chrono::milliseconds write_timeout{60'000}; ///< without progress by the client
};

/// The server's callbacks for requests. Called concurrently from many threads.
struct ConnectionHandlers {
    /// Maximum body size in bytes, by method and path; called before the body is read. Neither this nor
    /// `is_health_check` may block.
    std::function<std::size_t(const HttpRequest& head)> body_bytes_max;
    /// Whether the request is a health check, which is answered promptly even if all handlers are busy.
    std::function<bool(const HttpRequest& request)> is_health_check = [](const HttpRequest&) {
        return false;
    };
    /// Identifies the client of a request, for a fair share of the handlers. Must not block.
    std::function<uint64_t(const HttpRequest& request)> client_of = [](const HttpRequest&) { return 0; };
    std::function<HttpResponse(const HttpRequest& request)> answer;
    /// The response to a request that is malformed or over a limit, given the part that was parsed.
    std::function<HttpResponse(const Refusal& refusal)> refuse;
};

/// Accepts connections and serves HTTP/1.1 on them, with or without TLS. An idle connection, or one in the
/// middle of a handshake or a request, costs a descriptor and no thread. A peer that fails the handshake, or
/// is evicted during it, gets no response.
class Listener {
public:
    /// Binds and starts listening; connections wait until run(). Errors: io (the address, with the system's
    /// message), those of TlsContext::load().
    static Result<std::unique_ptr<Listener>> open(const ConnectionOptions& options,
                                                  ConnectionHandlers handlers);

    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;
    ~Listener();

    /// The bound port.
    [[nodiscard]] int port() const;

    /// Serves until stop(). Blocks.
    void run();

    /// Stops accepting, closes connections without a running request, and makes run() return, immediately if
    /// it is called later. Thread-safe, idempotent.
    void stop();

    /// Blocks until no request is running or `limit` has passed. Returns false if some still run: the
    /// destructor waits for them. Thread-safe.
    bool wait(std::chrono::milliseconds limit);

    /// Breaks the connections of running requests, at the end of a drain. Thread-safe.
    void abort();

    /// Returns memory freed by requests to the system: periodically while much has been freed, and the rest
    /// once no request has run for a second. Call it several times a second, from one thread. May take some
    /// milliseconds.
    void trim_heap();

    /// The current numbers of open connections and running requests.
    [[nodiscard]] std::size_t connections() const;
    [[nodiscard]] std::size_t requests() const;

private:
    class Implementation;
    explicit Listener(std::unique_ptr<Implementation> implementation);
    std::unique_ptr<Implementation> implementation_;
};

} // namespace etna::server

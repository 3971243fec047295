#pragma once

#include "core/base/result.hpp"
#include "server/http/incoming_request.hpp"
#include "server/http/socket.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace etna::server {

/// Polls connections without a running request: between requests, or in the middle of a head, a body or a TLS
/// handshake, whose computation runs here too. One epoll thread serves them all; a connection costs a
/// descriptor and the received part of its next request. Thread-safe.
class ConnectionPoller {
public:
    using Clock = std::chrono::steady_clock;

    struct Options {
        IncomingLimits limits;
        std::shared_ptr<MemoryBudget> memory;       ///< the budget of all requests
        std::chrono::milliseconds header_timeout{}; ///< for a TLS handshake too
        std::chrono::milliseconds idle_timeout{};
        /// For a body, from the end of its head, plus one second for every `body_bytes_per_s` bytes received.
        std::chrono::milliseconds body_timeout{};
        std::size_t body_bytes_per_s = 1;
    };

    /// Called with a complete request, on the poller's thread or that of add(). Must not block.
    using OnRequest = std::function<void(Socket socket, ReceivedRequest request)>;
    /// Called if a request is malformed, over a limit, or timed out (408). The refusal contains the part that
    /// was parsed.
    using OnRefusal = std::function<void(Socket socket, const Refusal& refusal)>;

    /// Starts the thread. Errors: io (the system has no descriptors).
    static Result<std::unique_ptr<ConnectionPoller>> create(Options options, OnRequest on_request,
                                                            OnRefusal on_refusal);

    ConnectionPoller(const ConnectionPoller&) = delete;
    ConnectionPoller& operator=(const ConnectionPoller&) = delete;

    ~ConnectionPoller();

    /// Closes the polled connections and all that are added later, and joins the thread. Must not be called
    /// on the poller's thread.
    void stop();

    /// Polls the socket until its next request is complete. `received`: the bytes of it that were already
    /// read.
    void add(Socket socket, std::string_view received);

    /// Lingering close: drains and drops input until the client closes or a short timeout passes. With unread
    /// input, the system would reset the connection and the client could lose the last response (RFC 9112,
    /// 9.6).
    void close_gracefully(Socket socket);

    /// Connections that may send requests; closing ones do not count toward limits.
    [[nodiscard]] std::size_t size() const;

    /// The same for one network: see Socket::remote_network().
    [[nodiscard]] std::size_t size_of(std::string_view network) const;

    /// Evicts the longest-idle connection of a network: one between requests if any, else one in the middle
    /// of sending, which gets a response. Returns false if the network has none.
    bool evict_idle(std::string_view network);

    /// Evicts the longest-idle connection of the network with the most. Returns false if there is none.
    bool evict_idle();

private:
    enum class Phase : uint8_t { open, closing };
    struct Connection {
        Socket socket;
        IncomingRequest request;
        Clock::time_point deadline;
        std::string network = {};
        Clock::time_point last_input = Clock::now();
        Clock::time_point body_start = {};
        bool has_input = false; ///< part of its next request has been received
        Phase phase = Phase::open;
        Transfer::Outcome waits_for = Transfer::Outcome::needs_input; ///< or needs_output
    };
    enum class Next : uint8_t {
        read, ///< more input may be available
        wait, ///< no more input for now
        gone, ///< closed, or handed over
    };

    ConnectionPoller(Options options, OnRequest on_request, OnRefusal on_refusal, Socket epoll, Socket wake);

    void poll();
    [[nodiscard]] bool close_all_if_stopping();
    void on_event(int descriptor);
    void read_or_close(Connection connection);
    void read_available(Connection connection);
    [[nodiscard]] Next read(Connection& connection);
    [[nodiscard]] Next feed(Connection& connection, std::string_view bytes);
    void set_deadline(Connection& connection) const;
    void refuse(Connection& connection, Refusal refusal) const;
    void wait_for_input(Connection connection);
    void expire();
    [[nodiscard]] std::size_t count(Phase phase) const;
    [[nodiscard]] int wait_ms();

    const Options options_;
    const OnRequest on_request_;
    const OnRefusal on_refusal_;
    const Socket epoll_; ///< a descriptor closed with the object, like `wake_`
    const Socket wake_;
    mutable std::mutex mutex_;
    std::map<int, Connection> connections_; ///< by descriptor
    bool is_stopping_ = false;
    std::thread thread_;
};

} // namespace etna::server

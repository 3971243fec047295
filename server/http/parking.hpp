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
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace etna::server {

/// Watches connections without a running request: between requests, or in the middle of a head, a body or a
/// TLS handshake, whose computation runs here too. One epoll thread serves them all; a connection costs a
/// descriptor and the received part of its next request. Thread-safe.
class Parking {
public:
    using Clock = std::chrono::steady_clock;

    struct Options {
        IncomingBounds bounds;
        std::shared_ptr<MemoryTotal> memory;        ///< the budget of all requests
        std::chrono::milliseconds header_timeout{}; ///< for a TLS handshake too
        std::chrono::milliseconds idle_timeout{};
        /// For a body, from the end of its head, plus one second for every `body_bytes_per_s` bytes received.
        std::chrono::milliseconds body_timeout{};
        std::size_t body_bytes_per_s = 1;
    };

    /// Called with a complete request, on the watching thread or that of park(). Must not block.
    using OnRequest = std::function<void(Socket socket, Arrival arrival)>;
    /// Called if a request is malformed, over a limit, or timed out (408). The refusal contains what was
    /// parsed.
    using OnRefusal = std::function<void(Socket socket, const Refusal& refusal)>;

    /// Starts the thread. Errors: io (the system has no descriptors).
    static Result<std::unique_ptr<Parking>> create(Options options, OnRequest on_request,
                                                   OnRefusal on_refusal);

    Parking(const Parking&) = delete;
    Parking& operator=(const Parking&) = delete;

    ~Parking();

    /// Closes parked connections and all that are parked later, and joins the thread. Must not be called on
    /// the watching thread.
    void stop();

    /// Watches the socket until its next request is complete. `received` are the bytes already read of it.
    void park(Socket socket, std::string_view received);

    /// Lingering close: drains and drops input until the client closes or a short timeout passes. With unread
    /// input, the system would reset the connection and the client could lose the last response (RFC 9112,
    /// 9.6).
    void see_off(Socket socket);

    /// Connections that may send requests; closing ones do not count toward limits.
    [[nodiscard]] std::size_t size() const;

    /// The same for one network: see Socket::remote_network().
    [[nodiscard]] std::size_t size_of(std::string_view network) const;

    /// Evicts the longest-idle connection of a network: one between requests if any, else one in the middle
    /// of sending, which gets a response. Returns false if the network has none.
    bool displace(std::string_view network);

    /// Evicts the longest-idle connection of the network with the most. Returns false if there is none.
    bool displace();

private:
    enum class Counted : uint8_t { staying, leaving };
    struct Parked {
        Socket socket;
        IncomingRequest request;
        Clock::time_point deadline;
        std::string network = {};
        Clock::time_point heard = Clock::now(); ///< when data was last received
        Clock::time_point body_began = {};
        bool is_begun = false;   ///< part of its next request has been received
        bool is_leaving = false; ///< input is read only to be dropped
        Transfer::Outcome waits_for = Transfer::Outcome::needs_input; ///< or needs_output
    };
    enum class Next : uint8_t {
        read,  ///< more input may be available
        watch, ///< no more input for now
        gone,  ///< closed, or handed over
    };

    Parking(Options options, OnRequest on_request, OnRefusal on_refusal, Socket epoll, Socket wake);

    void watch();
    [[nodiscard]] bool is_at_end(); ///< closes everything parked if true
    void resume(int descriptor);
    void read_or_close(Parked parked);
    void read_on(Parked parked);
    [[nodiscard]] Next read(Parked& parked);
    [[nodiscard]] Next take(Parked& parked, std::string_view bytes);
    void set_deadline(Parked& parked) const;
    void refuse(Parked& parked, Refusal refusal) const;
    void watch_over(Parked parked);
    void expire();
    [[nodiscard]] std::size_t count(Counted counted) const;
    [[nodiscard]] int wait_ms();

    const Options options_;
    const OnRequest on_request_;
    const OnRefusal on_refusal_;
    const Socket epoll_; ///< a descriptor closed with the object, like `wake_`
    const Socket wake_;
    mutable std::mutex mutex_;
    std::map<int, Parked> parked_; ///< by descriptor
    bool is_ending_ = false;
    std::thread thread_;
};

} // namespace etna::server

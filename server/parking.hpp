#pragma once

#include "core/base/result.hpp"
#include "server/incoming_request.hpp"
#include "server/socket.hpp"

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

/// Connections that have no request at work: between two of them, in the middle of a head, a body, or the
/// handshake of TLS, whose arithmetic is done here too. One thread watches them all; a connection costs a
/// descriptor and what has come of its next request. Thread-safe.
class Parking {
public:
    using Clock = std::chrono::steady_clock;

    struct Options {
        IncomingBounds bounds;
        std::shared_ptr<MemoryTotal> memory;        ///< of all requests
        std::chrono::milliseconds header_timeout{}; ///< for a handshake too
        std::chrono::milliseconds idle_timeout{};
        /// For a body, from its head on; and a second more for every so many bytes that have come.
        std::chrono::milliseconds body_timeout{};
        std::size_t body_bytes_per_s = 1;
    };

    /// A request has come whole. Called on the watching thread or that of park(), and must not block.
    using OnRequest = std::function<void(Socket socket, Arrival arrival)>;
    /// What came is no request that is taken, or took too long (408). The refusal has what was seen of it.
    using OnRefusal = std::function<void(Socket socket, const Refusal& refusal)>;

    /// Starts the thread. Errors: io (the system has no descriptors).
    static Result<std::unique_ptr<Parking>> create(Options options, OnRequest on_request,
                                                   OnRefusal on_refusal);

    Parking(const Parking&) = delete;
    Parking& operator=(const Parking&) = delete;

    ~Parking();

    /// Closes what is parked, and from then on what is to be parked, and joins the thread. Not for the
    /// watching thread.
    void stop();

    /// Watches the socket until its next request has come. `received` is what has already been read of it.
    void park(Socket socket, std::string_view received);

    /// Closes the connection when the client has, or after a short time, and drops what still comes: where it
    /// was not read, the system would take the last answer back (RFC 9112, 9.6).
    void see_off(Socket socket);

    /// Those of which requests may come: who is being seen off takes nobody's place.
    [[nodiscard]] std::size_t size() const;

    /// The same of one network: see Socket::remote_network().
    [[nodiscard]] std::size_t size_of(std::string_view network) const;

    /// Closes the idlest connection of a network: one between two requests, else one in the middle of what it
    /// sends, which is told so; in each case that from which nothing has come for the longest time. False
    /// where the network has none.
    bool displace(std::string_view network);

    /// Closes the idlest connection of the network that has the most. False where there is none.
    bool displace();

private:
    enum class Counted : uint8_t { staying, leaving };
    struct Parked {
        Socket socket;
        IncomingRequest request;
        Clock::time_point deadline;
        std::string network = {};
        Clock::time_point heard = Clock::now(); ///< when something came last
        Clock::time_point body_began = {};
        bool is_begun = false;   ///< something of its next request has come
        bool is_leaving = false; ///< nothing is read but to be dropped
        Transfer::Outcome waits_for = Transfer::Outcome::needs_input; ///< or needs_output
    };
    enum class Next : uint8_t {
        read,  ///< there may be more
        watch, ///< nothing more for now
        gone,  ///< closed, or in other hands
    };

    Parking(Options options, OnRequest on_request, OnRefusal on_refusal, Socket epoll, Socket wake);

    void watch();
    [[nodiscard]] bool is_at_end(); ///< everything parked is closed then
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
    const Socket epoll_; ///< a descriptor that is closed with the object, as is the next
    const Socket wake_;
    mutable std::mutex mutex_;
    std::map<int, Parked> parked_; ///< by descriptor
    bool is_ending_ = false;
    std::thread thread_;
};

} // namespace etna::server

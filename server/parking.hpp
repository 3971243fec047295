#pragma once

#include "core/base/result.hpp"
#include "server/socket.hpp"

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace etna::server {

/// Connections that have no request at work: between two of them, in the middle of a head, or of the
/// handshake of TLS, whose arithmetic is done here too. One thread watches them all; a connection costs a
/// descriptor and what has come of its next head. Thread-safe.
class Parking {
public:
    using Clock = std::chrono::steady_clock;

    struct Options {
        std::size_t header_bytes_max = 0;
        std::chrono::milliseconds header_timeout{}; ///< for a handshake too
        std::chrono::milliseconds idle_timeout{};
    };

    /// Called on the watching thread, and must not block. `head` begins with a whole head of a request; what
    /// follows it came with it.
    using OnRequest = std::function<void(Socket socket, std::string head)>;
    /// The head was too long (431) or too slow (408).
    using OnProblem = std::function<void(Socket socket, int status)>;

    /// Starts the thread. Errors: io (the system has no descriptors).
    static Result<std::unique_ptr<Parking>> create(const Options& options, OnRequest on_request,
                                                   OnProblem on_problem);

    Parking(const Parking&) = delete;
    Parking& operator=(const Parking&) = delete;

    ~Parking();

    /// Closes what is parked, and from then on what is to be parked, and joins the thread. Not for the
    /// watching thread.
    void stop();

    /// Watches the socket until its next request has come. `received` is what has already been read of it.
    void park(Socket socket, std::string received);

    [[nodiscard]] std::size_t size() const;

private:
    struct Parked {
        Socket socket;
        std::string received;
        Clock::time_point deadline;
        bool is_begun = false;                                        ///< something of its next head has come
        Transfer::Outcome waits_for = Transfer::Outcome::needs_input; ///< or needs_output
    };

    Parking(const Options& options, OnRequest on_request, OnProblem on_problem, Socket epoll, Socket wake);

    void watch();
    void resume(int descriptor);
    bool receive(Parked& parked) const;
    void settle(Parked parked);
    void watch_over(Parked parked);
    void expire();
    [[nodiscard]] int wait_ms();

    const Options options_;
    const OnRequest on_request_;
    const OnProblem on_problem_;
    const Socket epoll_; ///< a descriptor that is closed with the object, as is the next
    const Socket wake_;
    mutable std::mutex mutex_;
    std::map<int, Parked> parked_; ///< by descriptor
    bool is_ending_ = false;
    std::thread thread_;
};

} // namespace etna::server

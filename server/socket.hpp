#pragma once

#include "server/http.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace etna::server {

/// A connected TCP socket; closes it. One thread at a time, but for shut_down().
class Socket {
public:
    explicit Socket(int descriptor) : descriptor_(descriptor) {}
    Socket(Socket&& other) noexcept : descriptor_(other.release()) {}
    Socket& operator=(Socket&& other) noexcept;
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket();

    [[nodiscard]] int descriptor() const { return descriptor_; }

    /// Gives the descriptor away.
    int release();

    /// Up to `bytes` bytes, waiting for the first as long as `timeout`. 0 at the end of the stream; empty
    /// when time ran out or the connection broke.
    std::optional<std::size_t> read(char* into, std::size_t bytes, std::chrono::milliseconds timeout);

    /// All of it; false when the peer took nothing for as long as `timeout`, or the connection broke.
    bool write(std::string_view bytes, std::chrono::milliseconds timeout);

    /// What fits without waiting; for answers to those who are being sent away.
    void try_write(std::string_view bytes);

    [[nodiscard]] PeerState peer() const;

    /// Breaks the connection; a thread that reads or writes it fails at once. Thread-safe.
    void shut_down();

    /// "127.0.0.1" or "::1"; empty where the system does not say.
    [[nodiscard]] std::string remote_address() const;

private:
    int descriptor_ = -1;
};

} // namespace etna::server

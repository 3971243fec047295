#pragma once

#include "core/base/result.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::kv_events {

/// Bytes shared by messages and their queued copies.
using SharedBytes = std::shared_ptr<const std::string>;

/// A ZeroMQ socket with a private context. Sends and receives without blocking. Not thread-safe.
class Socket {
public:
    enum class Kind : uint8_t {
        publisher, ///< PUB: drops messages for a subscriber whose queue is full
        router,    ///< ROUTER: the first frame is the peer's identity; drops messages in the same way
    };

    /// As in vLLM, binds an endpoint that has a wildcard or is local (ipc://, inproc://), and connects to any
    /// other; a router always binds. `messages_max`: queued messages per peer. `received_bytes_max`: a peer
    /// that sends a longer frame is disconnected. Errors: invalid_argument (not an endpoint), io (the address
    /// is in use, and others).
    static Result<Socket> open(Kind kind, const std::string& endpoint, uint32_t messages_max,
                               uint32_t received_bytes_max);

    Socket(Socket&& other) noexcept;
    Socket& operator=(Socket&& other) noexcept;
    /// Waits up to `linger` until peers have received the queued messages.
    ~Socket();

    /// The address in use; a wildcard port is replaced by the port that the system chose.
    [[nodiscard]] std::string endpoint() const;

    /// Sends a multi-frame message.
    void send(std::span<const SharedBytes> frames);

    /// Returns the frames of the next received message, at most `frames_max`; empty if none is waiting.
    std::vector<std::string> receive(std::size_t frames_max);

    /// Blocks until `socket` (may be null) has a message or `descriptor` is readable.
    static void wait(const Socket* socket, int descriptor);

private:
    Socket(void* context, void* socket) : context_(context), socket_(socket) {}

    void* context_ = nullptr; ///< owned
    void* socket_ = nullptr;  ///< owned
};

} // namespace etna::server::kv_events

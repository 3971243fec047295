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

/// Bytes that messages and their copies in queues share.
using SharedBytes = std::shared_ptr<const std::string>;

/// A ZeroMQ socket with a context of its own. Sends and receives without blocking. Not thread-safe.
class Socket {
public:
    enum class Kind : uint8_t {
        publisher, ///< PUB: drops what a slow subscriber has no room for
        router,    ///< ROUTER: answers by the identity in the first frame; drops the same way
    };

    /// Binds an endpoint with a wildcard or of a local kind (ipc://, inproc://), and connects to any other,
    /// as vLLM does; a router always binds. `messages_max`: messages that wait for one peer.
    /// `received_bytes_max`: a peer that sends a longer frame is disconnected. Errors: invalid_argument (not
    /// an endpoint), io (the address is taken, and others).
    static Result<Socket> open(Kind kind, const std::string& endpoint, uint32_t messages_max,
                               uint32_t received_bytes_max);

    Socket(Socket&& other) noexcept;
    Socket& operator=(Socket&& other) noexcept;
    /// Waits up to `linger` for messages that peers have not taken.
    ~Socket();

    /// The address in use, with the port that the system chose for a wildcard.
    [[nodiscard]] std::string endpoint() const;

    /// Sends a message of several frames.
    void send(std::span<const SharedBytes> frames);

    /// Returns the frames of a received message, at most `frames_max` of them; empty if there is none.
    std::vector<std::string> receive(std::size_t frames_max);

    /// Blocks until `socket` (null: none) has a message, or `descriptor` can be read.
    static void wait(const Socket* socket, int descriptor);

private:
    Socket(void* context, void* socket) : context_(context), socket_(socket) {}

    void* context_ = nullptr; ///< owned
    void* socket_ = nullptr;  ///< owned
};

} // namespace etna::server::kv_events

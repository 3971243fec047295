#pragma once

#include "server/http/http.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sys/types.h>

namespace etna::server {

/// The result of a non-blocking read or write.
struct Transfer {
    enum class Outcome : uint8_t {
        moved,        ///< `bytes` were transferred, more than 0
        ended,        ///< end of stream: the peer has stopped sending
        needs_input,  ///< would block: retry when the descriptor is readable
        needs_output, ///< would block: retry when it is writable
        broken,
    };
    Outcome outcome = Outcome::broken;
    std::size_t bytes = 0;
};

/// The encryption layer of a connection. Not thread-safe. Its destructor notifies the peer that nothing more
/// is sent.
class SecureLayer {
public:
    SecureLayer() = default;
    SecureLayer(const SecureLayer&) = delete;
    SecureLayer& operator=(const SecureLayer&) = delete;
    virtual ~SecureLayer() = default;

    /// Neither read() nor write() blocks. Both drive the handshake until it is complete. An incomplete write
    /// must be repeated with the same bytes, or be the last.
    virtual Transfer read(char* into, std::size_t bytes) = 0;
    virtual Transfer write(std::string_view bytes) = 0;

    /// Whether the handshake is still in progress.
    [[nodiscard]] virtual bool is_in_handshake() const = 0;

    /// Whether read() has buffered bytes that the descriptor's readiness does not signal.
    [[nodiscard]] virtual bool has_pending() const = 0;
};

/// An owned, connected TCP socket, optionally with TLS. Not thread-safe, except for shut_down(). A
/// disconnected peer is an outcome, never a signal.
class Socket {
public:
    /// Takes ownership of the descriptor. `layer` encrypts it; null for a plain connection.
    explicit Socket(int descriptor, std::unique_ptr<SecureLayer> layer = nullptr);
    Socket(Socket&& other) noexcept;
    Socket& operator=(Socket&& other) noexcept;
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket();

    [[nodiscard]] int descriptor() const { return descriptor_; }

    /// Enables encryption. Precondition: nothing was read or written, and there is no layer yet.
    void secure(std::unique_ptr<SecureLayer> layer) { layer_ = std::move(layer); }

    /// Reads up to `bytes` bytes, or returns why it cannot. Does not block.
    Transfer try_read(char* into, std::size_t bytes);

    /// Reads up to `bytes` bytes; blocks up to `timeout` for the first. Returns 0 at the end of the stream;
    /// empty on timeout or if the connection broke.
    std::optional<std::size_t> read(char* into, std::size_t bytes, std::chrono::milliseconds timeout);

    /// Writes all of it. Returns false if the peer accepted nothing for `timeout`, or the connection broke;
    /// nothing can be written after that.
    bool write(std::string_view bytes, std::chrono::milliseconds timeout);

    /// Writes what fits without blocking, for responses to evicted clients. Writes nothing during a
    /// handshake.
    void try_write(std::string_view bytes);

    /// False without TLS.
    [[nodiscard]] bool is_in_handshake() const { return layer_ && layer_->is_in_handshake(); }

    /// Whether buffered input exists that the descriptor's readiness does not signal.
    [[nodiscard]] bool has_pending() const { return layer_ && layer_->has_pending(); }

    /// The peer's state, determined without reading. A TLS close_notify ends the peer's sending half when it
    /// is read; until then the peer counts as open, and gets its response.
    [[nodiscard]] PeerState peer() const;

    /// Closes the sending half, TLS included: later reads return raw input that can only be dropped.
    void finish();

    /// Breaks the connection; a concurrent read or write fails at once. Thread-safe.
    void shut_down();

    /// "127.0.0.1" or "::1"; empty if unavailable.
    [[nodiscard]] std::string remote_address() const;

    /// The address range that one client controls: its address, for IPv6 the first 64 bits; not
    /// human-readable. Empty if unavailable.
    [[nodiscard]] std::string remote_network() const;

private:
    Transfer send(std::string_view bytes);
    void close();

    int descriptor_ = -1;
    std::unique_ptr<SecureLayer> layer_;
};

/// One non-blocking recv() or send() that raises no signal. `count` must be more than 0.
Transfer receive_from(int descriptor, char* into, std::size_t count);
Transfer send_to(int descriptor, std::string_view bytes);

} // namespace etna::server

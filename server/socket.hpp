#pragma once

#include "server/http.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sys/types.h>

namespace etna::server {

/// How far a read or a write came that did not wait.
struct Transfer {
    enum class Outcome : uint8_t {
        moved,        ///< `bytes` of them, more than 0
        ended,        ///< the peer sends nothing more
        needs_input,  ///< nothing yet: again when the descriptor is readable
        needs_output, ///< nothing yet: again when it is writable
        broken,
    };
    Outcome outcome = Outcome::broken;
    std::size_t bytes = 0;
};

/// What encrypts a connection. One thread at a time. Its end tells the peer that nothing more comes.
class SecureLayer {
public:
    SecureLayer() = default;
    SecureLayer(const SecureLayer&) = delete;
    SecureLayer& operator=(const SecureLayer&) = delete;
    virtual ~SecureLayer() = default;

    /// Neither blocks. Until it is done, both go on with the handshake first. A write that could not be
    /// finished is to be repeated with the same bytes, or is the last.
    virtual Transfer read(char* into, std::size_t bytes) = 0;
    virtual Transfer write(std::string_view bytes) = 0;

    /// Whether peer and server have not agreed yet.
    [[nodiscard]] virtual bool is_in_handshake() const = 0;

    /// Whether read() has bytes for which the descriptor will not become readable.
    [[nodiscard]] virtual bool has_pending() const = 0;
};

/// A connected TCP socket, and TLS over it where it has that; closes it. One thread at a time, but for
/// shut_down(). A peer that is gone is an outcome, never a signal.
class Socket {
public:
    /// Owns the descriptor. `layer` is over it; null for a connection that is not encrypted.
    explicit Socket(int descriptor, std::unique_ptr<SecureLayer> layer = nullptr);
    Socket(Socket&& other) noexcept;
    Socket& operator=(Socket&& other) noexcept;
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;
    ~Socket();

    [[nodiscard]] int descriptor() const { return descriptor_; }

    /// Encrypts from now on. Precondition: nothing was read or written, and there is no layer yet.
    void secure(std::unique_ptr<SecureLayer> layer) { layer_ = std::move(layer); }

    /// Up to `bytes` bytes, or what is in the way. Does not block.
    Transfer try_read(char* into, std::size_t bytes);

    /// Up to `bytes` bytes, waiting for the first as long as `timeout`. 0 at the end of the stream; empty
    /// when time ran out or the connection broke.
    std::optional<std::size_t> read(char* into, std::size_t bytes, std::chrono::milliseconds timeout);

    /// All of it; false when the peer took nothing for as long as `timeout`, or the connection broke. Nothing
    /// can be written after that.
    bool write(std::string_view bytes, std::chrono::milliseconds timeout);

    /// What fits without waiting; for answers to those who are being sent away. Nothing in a handshake.
    void try_write(std::string_view bytes);

    /// False without TLS.
    [[nodiscard]] bool is_in_handshake() const { return layer_ && layer_->is_in_handshake(); }

    /// Whether something can be read for which the descriptor will not become readable.
    [[nodiscard]] bool has_pending() const { return layer_ && layer_->has_pending(); }

    /// What the connection says, without reading it. TLS's own farewell (close_notify) ends the sending half
    /// when it is read; until then the peer is open, and gets its answer.
    [[nodiscard]] PeerState peer() const;

    /// Ends the sending half, TLS and all: what is read after that is what comes, and can only be dropped.
    void finish();

    /// Breaks the connection; a thread that reads or writes it fails at once. Thread-safe.
    void shut_down();

    /// "127.0.0.1" or "::1"; empty where the system does not say.
    [[nodiscard]] std::string remote_address() const;

    /// What one client may have at will: its address, of IPv6 the first 64 bits; in no form for people. Empty
    /// where the system does not say.
    [[nodiscard]] std::string remote_network() const;

private:
    Transfer send(std::string_view bytes);
    void close();

    int descriptor_ = -1;
    std::unique_ptr<SecureLayer> layer_;
};

/// One recv() or send() that does not wait and raises no signal. `count` more than 0.
Transfer receive_from(int descriptor, char* into, std::size_t count);
Transfer send_to(int descriptor, std::string_view bytes);

} // namespace etna::server

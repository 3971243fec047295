#pragma once

#include "tests/server/raw_client.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

namespace etna::test {

/// A TLS client over RawClient that accepts any certificate, and can perform single steps.
class TlsClient {
public:
    struct Options {
        int version = TLS1_3_VERSION;
        std::string protocols = {}; ///< for ALPN, each prefixed by its length: "\x02h2"
    };

    explicit TlsClient(int port) : TlsClient(port, Options()) {}
    TlsClient(int port, const Options& options);

    /// The underlying connection.
    RawClient& raw() { return raw_; }

    /// Returns the bytes to be sent next: the first flight, on the first call.
    std::string next_flight();

    /// Completes the handshake. Returns false if the server refused or closed.
    bool handshake(std::chrono::milliseconds limit = std::chrono::seconds(20));

    /// Precondition: the handshake is complete. Returns false if the connection is broken.
    bool send(std::string_view bytes);

    /// Sends close_notify, which ends the sending half and leaves the connection open.
    void send_close_notify();

    /// As RawClient's.
    std::string read_until(std::string_view text, std::chrono::milliseconds limit = std::chrono::seconds(20));
    std::string read_all(std::chrono::milliseconds limit = std::chrono::seconds(20));

    /// Whether the bytes read include the server's close_notify.
    [[nodiscard]] bool has_close_notify() const;

    [[nodiscard]] std::string protocol() const; ///< negotiated by ALPN
    [[nodiscard]] int version() const { return SSL_version(session_.get()); }

private:
    struct Free {
        void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
        void operator()(SSL* session) const { SSL_free(session); }
    };

    bool receive(std::chrono::milliseconds limit);

    RawClient raw_;
    std::unique_ptr<SSL_CTX, Free> context_;
    std::unique_ptr<SSL, Free> session_; ///< over memory buffers, not a socket
};

} // namespace etna::test

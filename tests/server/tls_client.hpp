#pragma once

#include "tests/server/raw_client.hpp"

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

namespace etna::test {

/// TLS over a RawClient, believing any certificate: one step at a time where a test wants that.
class TlsClient {
public:
    struct Options {
        int version = TLS1_3_VERSION;
        std::string protocols = {}; ///< for ALPN, each after its length: "\x02h2"
    };

    explicit TlsClient(int port) : TlsClient(port, Options()) {}
    TlsClient(int port, const Options& options);

    /// The connection under it.
    RawClient& raw() { return raw_; }

    /// What it wants to send and has not sent yet: its first flight, when it is called first.
    std::string next_flight();

    /// Goes on with the handshake to its end. False when the server refused or closed.
    bool shake_hands(std::chrono::milliseconds limit = std::chrono::seconds(20));

    /// After the handshake. False when the connection is broken.
    bool send(std::string_view bytes);

    /// TLS's farewell, which ends the sending half and leaves the connection open.
    void say_farewell();

    /// As RawClient's.
    std::string read_until(std::string_view wanted,
                           std::chrono::milliseconds limit = std::chrono::seconds(20));
    std::string read_all(std::chrono::milliseconds limit = std::chrono::seconds(20));

    /// Whether the server has said farewell, in what was read.
    [[nodiscard]] bool is_farewell_said() const;

    [[nodiscard]] std::string protocol() const; ///< what ALPN came to
    [[nodiscard]] int version() const { return SSL_version(session_.get()); }

private:
    struct Free {
        void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
        void operator()(SSL* session) const { SSL_free(session); }
    };

    bool receive(std::chrono::milliseconds limit);

    RawClient raw_;
    std::unique_ptr<SSL_CTX, Free> context_;
    std::unique_ptr<SSL, Free> session_; ///< over memory: it neither reads nor writes a socket
};

} // namespace etna::test

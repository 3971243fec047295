#pragma once

#include "core/base/result.hpp"
#include "server/socket.hpp"

#include <filesystem>
#include <memory>

namespace etna::server {

/// The server's side of TLS, by OpenSSL, which tls.cpp alone knows: its certificate and key, version 1.2 at
/// least, HTTP/1.1 where the client asks which protocol is spoken (ALPN, RFC 7301). Thread-safe.
class TlsContext {
public:
    /// `certificate`: PEM, the server's first, then those that vouch for it. `key`: PEM, without a password;
    /// may be the same file. Blocking. Errors: not_found and io (a file cannot be read), invalid_argument (it
    /// holds no certificate, no key, or the key of another certificate).
    static Result<std::unique_ptr<TlsContext>> load(const std::filesystem::path& certificate,
                                                    const std::filesystem::path& key);

    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    /// What accept() gave must be gone.
    ~TlsContext();

    /// TLS over a connection that was just taken. `descriptor` is borrowed, and closed after the layer. Never
    /// null, does not block; the first reads make the handshake. Where memory is short, they find it broken.
    [[nodiscard]] std::unique_ptr<SecureLayer> accept(int descriptor) const;

private:
    class Implementation;
    explicit TlsContext(std::unique_ptr<const Implementation> implementation);
    const std::unique_ptr<const Implementation> implementation_;
};

} // namespace etna::server

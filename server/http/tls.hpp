#pragma once

#include "core/base/result.hpp"
#include "server/http/socket.hpp"

#include <filesystem>
#include <memory>

namespace etna::server {

/// The server side of TLS, through OpenSSL, which only tls.cpp uses: certificate and key, TLS 1.2 or later,
/// HTTP/1.1 in ALPN (RFC 7301). Thread-safe.
class TlsContext {
public:
    /// `certificate`: PEM chain, the server's certificate first. `key`: PEM, without a password; may be the
    /// same file. Blocks. Errors: not_found and io (a file cannot be read), invalid_argument (it holds no
    /// certificate, no key, or the key of another certificate).
    static Result<std::unique_ptr<TlsContext>> load(const std::filesystem::path& certificate,
                                                    const std::filesystem::path& key);

    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    /// All layers returned by accept() must be destroyed first.
    ~TlsContext();

    /// Creates the TLS layer of a newly accepted connection. `descriptor` is borrowed, and must be closed
    /// after the layer. Never null, does not block; the first reads perform the handshake. If memory is
    /// short, they return `broken`.
    [[nodiscard]] std::unique_ptr<SecureLayer> accept(int descriptor) const;

private:
    class Implementation;
    explicit TlsContext(std::unique_ptr<const Implementation> implementation);
    const std::unique_ptr<const Implementation> implementation_;
};

} // namespace etna::server

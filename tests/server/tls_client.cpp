#include "tests/server/tls_client.hpp"

#include "tests/support/catch.hpp"

#include <array>

#include <openssl/err.h>

namespace etna::test {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds left(Clock::time_point end) {
    return std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
}

} // namespace

TlsClient::TlsClient(int port, const Options& options)
    : raw_(port), context_(SSL_CTX_new(TLS_client_method())) {
    SSL_CTX_set_security_level(context_.get(), 0); // allows versions that the server must refuse
    SSL_CTX_set_min_proto_version(context_.get(), options.version);
    SSL_CTX_set_max_proto_version(context_.get(), options.version);
    session_.reset(SSL_new(context_.get()));
    REQUIRE(session_ != nullptr);
    SSL_set_bio(session_.get(), BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
    SSL_set_connect_state(session_.get());
    if (!options.protocols.empty()) {
        SSL_set_alpn_protos(session_.get(), reinterpret_cast<const unsigned char*>(options.protocols.data()),
                            static_cast<unsigned>(options.protocols.size()));
    }
}

std::string TlsClient::next_flight() {
    ERR_clear_error();
    if (SSL_is_init_finished(session_.get()) == 0)
        SSL_do_handshake(session_.get());
    std::string flight(BIO_ctrl_pending(SSL_get_wbio(session_.get())), '\0');
    if (!flight.empty())
        BIO_read(SSL_get_wbio(session_.get()), flight.data(), static_cast<int>(flight.size()));
    return flight;
}

/// Receives the next bytes. Returns false at the end, or on timeout.
bool TlsClient::receive(std::chrono::milliseconds limit) {
    const std::string bytes = raw_.read_some(limit);
    if (!bytes.empty())
        BIO_write(SSL_get_rbio(session_.get()), bytes.data(), static_cast<int>(bytes.size()));
    return !bytes.empty();
}

bool TlsClient::handshake(std::chrono::milliseconds limit) {
    const auto end = Clock::now() + limit;
    while (true) {
        ERR_clear_error();
        const int done = SSL_do_handshake(session_.get());
        const int error = SSL_get_error(session_.get(), done);
        if (!raw_.send(next_flight()) || (done != 1 && error != SSL_ERROR_WANT_READ))
            return false;
        if (done == 1)
            return true;
        if (!receive(left(end)))
            return false;
    }
}

bool TlsClient::send(std::string_view bytes) {
    ERR_clear_error();
    return SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0 &&
           raw_.send(next_flight());
}

void TlsClient::send_close_notify() {
    SSL_shutdown(session_.get());
    raw_.send(next_flight());
}

std::string TlsClient::read_until(std::string_view text, std::chrono::milliseconds limit) {
    const auto end = Clock::now() + limit;
    std::string received;
    while (text.empty() || received.find(text) == std::string::npos) {
        std::array<char, 65536> piece{};
        ERR_clear_error();
        const int count = SSL_read(session_.get(), piece.data(), piece.size());
        if (count > 0) {
            received.append(piece.data(), static_cast<std::size_t>(count));
        } else if (SSL_get_error(session_.get(), count) != SSL_ERROR_WANT_READ || !receive(left(end))) {
            break;
        }
    }
    return received;
}

std::string TlsClient::read_all(std::chrono::milliseconds limit) {
    return read_until({}, limit);
}

bool TlsClient::has_close_notify() const {
    return (SSL_get_shutdown(session_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
}

std::string TlsClient::protocol() const {
    const unsigned char* name = nullptr;
    unsigned bytes = 0;
    SSL_get0_alpn_selected(session_.get(), &name, &bytes);
    return {reinterpret_cast<const char*>(name), bytes};
}

} // namespace etna::test

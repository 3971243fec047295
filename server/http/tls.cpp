#include "server/http/tls.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace etna::server {
namespace {

using Outcome = Transfer::Outcome;

template <auto free_it>
struct OpenSslDeleter {
    template <class T>
    void operator()(T* object) const {
        free_it(object);
    }
};
using Context = std::unique_ptr<SSL_CTX, OpenSslDeleter<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, OpenSslDeleter<SSL_free>>;
using Method = std::unique_ptr<BIO_METHOD, OpenSslDeleter<BIO_meth_free>>;

/// A custom BIO for sockets: OpenSSL's own blocks unless the descriptor is non-blocking, and raises SIGPIPE.
namespace bridge {

int descriptor_of(BIO* bio) {
    return *static_cast<const int*>(BIO_get_data(bio));
}

int read(BIO* bio, char* into, int count) {
    BIO_clear_retry_flags(bio);
    if (count <= 0)
        return 0;
    const Transfer read = receive_from(descriptor_of(bio), into, static_cast<std::size_t>(count));
    switch (read.outcome) {
    case Outcome::moved:
        return static_cast<int>(read.bytes);
    case Outcome::ended:
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
        return 0;
    case Outcome::needs_input:
        BIO_set_retry_read(bio);
        return -1;
    default:
        return -1;
    }
}

int write(BIO* bio, const char* bytes, int count) {
    BIO_clear_retry_flags(bio);
    if (count <= 0)
        return 0;
    const Transfer sent = send_to(descriptor_of(bio), {bytes, static_cast<std::size_t>(count)});
    if (sent.outcome == Outcome::needs_output)
        BIO_set_retry_write(bio);
    return sent.outcome == Outcome::moved ? static_cast<int>(sent.bytes) : -1;
}

long control(BIO* bio, int command, long /*argument*/, void* /*pointer*/) {
    if (command == BIO_CTRL_EOF)
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
    return command == BIO_CTRL_FLUSH ? 1 : 0; // nothing is buffered
}

Method create_method() {
    static const int index = BIO_get_new_index(); // only 127 are available
    Method method(BIO_meth_new(BIO_TYPE_SOURCE_SINK | index, "etna's socket"));
    const bool is_complete = method && BIO_meth_set_read(method.get(), read) == 1 &&
                             BIO_meth_set_write(method.get(), write) == 1 &&
                             BIO_meth_set_ctrl(method.get(), control) == 1;
    return is_complete ? std::move(method) : nullptr;
}

} // namespace bridge

class Layer final : public SecureLayer {
public:
    Layer(SSL_CTX* context, const BIO_METHOD* method, int descriptor)
        : descriptor_(descriptor), session_(SSL_new(context)) {
        BIO* bio = session_ ? BIO_new(method) : nullptr;
        is_broken_ = bio == nullptr;
        if (is_broken_)
            return;
        BIO_set_data(bio, &descriptor_);
        BIO_set_init(bio, 1);
        SSL_set_bio(session_.get(), bio, bio); // takes ownership of the BIO
        SSL_set_accept_state(session_.get());
    }
    Layer(const Layer&) = delete;
    Layer& operator=(const Layer&) = delete;

    ~Layer() override {
        ERR_clear_error();
        if (!is_broken_ && !has_partial_write_ && !is_in_handshake_)
            SSL_shutdown(session_.get()); // does not block if the socket buffer is full
        ERR_clear_error();
    }

    Transfer read(char* into, std::size_t bytes) override {
        std::size_t count = 0;
        return move([&] { return SSL_read_ex(session_.get(), into, bytes, &count); }, count);
    }

    Transfer write(std::string_view bytes) override {
        std::size_t count = 0;
        const Transfer sent =
            move([&] { return SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &count); }, count);
        has_partial_write_ = sent.outcome != Outcome::moved;
        return sent;
    }

    [[nodiscard]] bool is_in_handshake() const override { return is_in_handshake_; }
    [[nodiscard]] bool has_pending() const override { return !is_broken_ && SSL_pending(session_.get()) > 0; }

private:
    /// One OpenSSL call that sets `count`. OpenSSL's per-thread error queue must be cleared after it: the
    /// next call, for any connection, would misread the errors as its own.
    template <class Call>
    Transfer move(Call call, const std::size_t& count) {
        if (is_broken_)
            return {.outcome = Outcome::broken};
        ERR_clear_error();
        const int result = call();
        is_in_handshake_ = is_in_handshake_ && SSL_is_init_finished(session_.get()) == 0;
        const Outcome outcome = outcome_of(SSL_get_error(session_.get(), result));
        ERR_clear_error();
        is_broken_ = outcome == Outcome::broken;
        return {.outcome = outcome, .bytes = outcome == Outcome::moved ? count : 0};
    }

    static Outcome outcome_of(int error) {
        switch (error) {
        case SSL_ERROR_NONE:
            return Outcome::moved;
        case SSL_ERROR_ZERO_RETURN:
            return Outcome::ended;
        case SSL_ERROR_WANT_READ:
            return Outcome::needs_input;
        case SSL_ERROR_WANT_WRITE:
            return Outcome::needs_output;
        default:
            return Outcome::broken;
        }
    }

    int descriptor_; ///< borrowed
    const Session session_;
    bool is_in_handshake_ = true;
    bool has_partial_write_ = false; ///< only the rest of that write may follow
    bool is_broken_ = false;
};

/// RFC 7301: refuses a client whose protocol list lacks ours.
int choose_protocol(SSL* /*session*/, const unsigned char** chosen, unsigned char* chosen_bytes,
                    const unsigned char* offered, unsigned int offered_bytes, void* /*argument*/) {
    static constexpr std::array<unsigned char, 9> ours = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
    unsigned char* found = nullptr;
    if (SSL_select_next_proto(&found, chosen_bytes, ours.data(), ours.size(), offered, offered_bytes) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}

/// Replaces OpenSSL's password prompt on the terminal. `needs_password` points to a bool.
int refuse_password(char* /*into*/, int /*bytes*/, int /*is_written*/, void* needs_password) {
    *static_cast<bool*>(needs_password) = true;
    return -1;
}

/// The first error in OpenSSL's queue; the rest are consequences of it.
struct FirstError {
    unsigned long code = ERR_peek_error();

    [[nodiscard]] bool is(int library, int reason) const {
        return ERR_GET_LIB(code) == library && ERR_GET_REASON(code) == reason;
    }
    [[nodiscard]] std::string text() const {
        const char* reason =
            ERR_SYSTEM_ERROR(code) ? std::strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code);
        return reason == nullptr ? "OpenSSL gives no reason" : reason;
    }
};

Error unusable(std::string_view what, const std::filesystem::path& path, const FirstError& error) {
    if (!ERR_SYSTEM_ERROR(error.code)) {
        return {ErrorKind::invalid_argument,
                fmt::format("the {} {} is unusable: {}", what, path.string(), error.text())};
    }
    return {ERR_GET_REASON(error.code) == ENOENT ? ErrorKind::not_found : ErrorKind::io,
            fmt::format("cannot read the {} {}: {}", what, path.string(), error.text()),
            "pass PEM files to --tls-cert and --tls-key"};
}

Status use_certificate(SSL_CTX* context, const std::filesystem::path& path) {
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(context, path.c_str()) == 1)
        return {};
    const FirstError error;
    if (error.is(ERR_LIB_PEM, PEM_R_NO_START_LINE)) {
        return invalid_argument(fmt::format("{}: no certificate in PEM format", path.string()),
                                "pass a file with a line -----BEGIN CERTIFICATE-----");
    }
    return unusable("certificate", path, error);
}

Status use_key(SSL_CTX* context, const std::filesystem::path& path,
               const std::filesystem::path& certificate) {
    bool needs_password = false;
    SSL_CTX_set_default_passwd_cb(context, refuse_password);
    SSL_CTX_set_default_passwd_cb_userdata(context, &needs_password);
    ERR_clear_error();
    const bool is_read = SSL_CTX_use_PrivateKey_file(context, path.c_str(), SSL_FILETYPE_PEM) == 1;
    SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
    const FirstError error;
    if (needs_password) {
        return invalid_argument(
            fmt::format("{}: the private key is encrypted", path.string()),
            fmt::format("decrypt it with `openssl pkey -in {} -out FILE`", path.string()));
    }
    // A key of a different type than the certificate's is read without error, so compare here.
    if (error.is(ERR_LIB_X509, X509_R_KEY_VALUES_MISMATCH) ||
        (is_read && SSL_CTX_check_private_key(context) != 1)) {
        return invalid_argument(
            fmt::format("the key {} does not match the certificate {}", path.string(), certificate.string()),
            "pass the key of the certificate; in a certificate chain, the server's own comes first");
    }
    if (is_read)
        return {};
    if (error.is(ERR_LIB_OSSL_DECODER, ERR_R_UNSUPPORTED) || error.is(ERR_LIB_PEM, PEM_R_NO_START_LINE)) {
        return invalid_argument(fmt::format("{}: no private key in PEM format", path.string()),
                                "pass a file with a line -----BEGIN PRIVATE KEY-----");
    }
    return unusable("key", path, error);
}

Context create_context() {
    Context context(SSL_CTX_new(TLS_server_method()));
    if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1)
        return nullptr;
    // A connection closed without close_notify counts as end of stream: HTTP framing detects truncation.
    SSL_CTX_set_options(context.get(), SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
    // Idle connections hold no buffers, and a retried write may pass another buffer address.
    SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    // A read returns after each record, so that a peer that sends only key updates cannot block a thread.
    SSL_CTX_clear_mode(context.get(), SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
    return context;
}

} // namespace

class TlsContext::Implementation {
public:
    const Method method = bridge::create_method();
    const Context context = create_context();
};

TlsContext::TlsContext(std::unique_ptr<const Implementation> implementation)
    : implementation_(std::move(implementation)) {}

TlsContext::~TlsContext() = default;

Result<std::unique_ptr<TlsContext>> TlsContext::load(const std::filesystem::path& certificate,
                                                     const std::filesystem::path& key) {
    auto implementation = std::make_unique<const Implementation>();
    if (!implementation->method || !implementation->context) {
        const FirstError error;
        return Error{ErrorKind::io, fmt::format("cannot initialize TLS: {}", error.text()),
                     "check OpenSSL's configuration, openssl.cnf"};
    }
    ETNA_CHECK(use_certificate(implementation->context.get(), certificate));
    ETNA_CHECK(use_key(implementation->context.get(), key, certificate));
    return std::unique_ptr<TlsContext>(new TlsContext(std::move(implementation)));
}

std::unique_ptr<SecureLayer> TlsContext::accept(int descriptor) const {
    return std::make_unique<Layer>(implementation_->context.get(), implementation_->method.get(), descriptor);
}

} // namespace etna::server

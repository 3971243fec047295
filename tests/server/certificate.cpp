#include "tests/server/certificate.hpp"

#include "tests/support/catch.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace etna::test {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Signed = std::unique_ptr<X509, decltype(&X509_free)>;
using File = std::unique_ptr<std::FILE, decltype(&std::fclose)>;

Key new_key(Certificate::Kind kind) {
    constexpr std::size_t rsa_bits = 2048;
    EVP_PKEY* made = kind == Certificate::Kind::rsa ? EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", rsa_bits)
                                                    : EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256");
    REQUIRE(made != nullptr);
    return {made, EVP_PKEY_free};
}

Signed self_signed(EVP_PKEY* key) {
    constexpr long day_s = 86'400;
    Signed made(X509_new(), X509_free);
    X509_set_version(made.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -day_s);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), day_s);
    X509_set_pubkey(made.get(), key);
    X509_NAME* name = X509_get_subject_name(made.get());
    const auto* text = reinterpret_cast<const unsigned char*>("127.0.0.1");
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0);
    X509_set_issuer_name(made.get(), name);
    REQUIRE(X509_sign(made.get(), key, EVP_sha256()) > 0);
    return made;
}

File created(const std::filesystem::path& path) {
    File file(std::fopen(path.c_str(), "wb"), std::fclose);
    REQUIRE(file != nullptr);
    return file;
}

} // namespace

Certificate::Certificate(Kind kind) {
    std::string pattern = (std::filesystem::temp_directory_path() / "etna-tls-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
    const Key key = new_key(kind);
    write(key.get(), self_signed(key.get()).get());
}

Certificate::~Certificate() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void Certificate::write(EVP_PKEY* key, X509* certificate) const {
    REQUIRE(PEM_write_X509(created(this->certificate()).get(), certificate) == 1);
    REQUIRE(PEM_write_PKCS8PrivateKey(created(this->key()).get(), key, nullptr, nullptr, 0, nullptr,
                                      nullptr) == 1);
    REQUIRE(PEM_write_PKCS8PrivateKey(created(encrypted_key()).get(), key, EVP_aes_128_cbc(), "secret", 6,
                                      nullptr, nullptr) == 1);
}

} // namespace etna::test

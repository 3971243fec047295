#pragma once

#include <filesystem>

#include <openssl/types.h>

namespace etna::test {

/// A temporary folder with a new key and a self-signed certificate for 127.0.0.1; removed with the object.
class Certificate {
public:
    enum class Kind { elliptic, rsa };

    explicit Certificate(Kind kind = Kind::elliptic);
    Certificate(const Certificate&) = delete;
    Certificate& operator=(const Certificate&) = delete;
    ~Certificate();

    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
    [[nodiscard]] std::filesystem::path certificate() const { return folder_ / "certificate.pem"; }
    [[nodiscard]] std::filesystem::path key() const { return folder_ / "key.pem"; }

    /// The same key, encrypted with a password.
    [[nodiscard]] std::filesystem::path encrypted_key() const { return folder_ / "encrypted.pem"; }

private:
    void write(EVP_PKEY* key, X509* certificate) const;

    std::filesystem::path folder_;
};

} // namespace etna::test

#pragma once

#include <filesystem>

#include <openssl/types.h>

namespace etna::test {

/// A folder with a key and a certificate for 127.0.0.1 that it signed itself, made on the spot; removed with
/// the object.
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

    /// The key once more, with a password.
    [[nodiscard]] std::filesystem::path locked_key() const { return folder_ / "locked.pem"; }

private:
    void write(EVP_PKEY* key, X509* certificate) const;

    std::filesystem::path folder_;
};

} // namespace etna::test

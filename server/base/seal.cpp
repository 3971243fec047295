#include "server/base/seal.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

namespace etna::server {
namespace {

constexpr std::size_t nonce_bytes = 12;
constexpr std::size_t tag_bytes = 16;

struct CipherDeleter {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, CipherDeleter>;

const unsigned char* bytes_of(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) {
    return reinterpret_cast<unsigned char*>(text.data());
}

std::optional<std::string> from_base64(std::string_view text) {
    constexpr std::size_t group = 4;
    if (text.size() % group != 0)
        return std::nullopt;
    std::string bytes(text.size() / group * 3 + 1, '\0');
    const int size = EVP_DecodeBlock(bytes_of(bytes), bytes_of(text), static_cast<int>(text.size()));
    if (size < 0)
        return std::nullopt;
    const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    bytes.resize(static_cast<std::size_t>(size) - padding);
    return bytes;
}

Error failed() {
    return {ErrorKind::internal, "OpenSSL failed to encrypt"};
}

Error not_ours() {
    return {ErrorKind::invalid_argument, "was not sealed by this server, or was modified"};
}

/// Reads the key from the file; writes a new one if the file is empty.
Result<std::string> read_or_make(int descriptor, std::size_t size, const std::string& name) {
    std::string key(size + 1, '\0');
    const ssize_t count = ::read(descriptor, key.data(), key.size());
    if (count == static_cast<ssize_t>(size)) {
        key.resize(size);
        return key;
    }
    if (count != 0)
        return Error{ErrorKind::corrupt, fmt::format("{} is not a key: its size is not {} bytes", name, size),
                     "move it away; items sealed with it become unreadable"};
    key.resize(size);
    if (RAND_bytes(bytes_of(key), static_cast<int>(size)) != 1)
        return failed();
    if (::write(descriptor, key.data(), size) != static_cast<ssize_t>(size) || ::fsync(descriptor) != 0)
        return Error{ErrorKind::io, fmt::format("cannot write {}", name)};
    return key;
}

} // namespace

std::string base64(std::string_view bytes) {
    constexpr std::size_t group = 3; // three bytes become four characters
    std::string text((bytes.size() + group - 1) / group * 4 + 1, '\0');
    const int size = EVP_EncodeBlock(bytes_of(text), bytes_of(bytes), static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(size));
    return text;
}

Result<Seal> Seal::temporary() {
    Key key = {};
    if (RAND_bytes(key.data(), static_cast<int>(key.size())) != 1)
        return failed();
    return Seal(key);
}

Result<Seal> Seal::open(const std::filesystem::path& file) {
    constexpr mode_t owner_only = 0600;
    int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, owner_only);
    if (descriptor < 0) // a read-only store may have a read-only key
        descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return Error{ErrorKind::io, fmt::format("cannot open the key {}", file.string())};
    ::fchmod(descriptor, owner_only);
    const auto bytes = read_or_make(descriptor, key_bytes, file.string());
    ::close(descriptor);
    if (!bytes)
        return bytes.error();
    Key key = {};
    std::copy(bytes->begin(), bytes->end(), key.begin());
    return Seal(key);
}

Result<std::string> Seal::seal(std::string_view text, std::string_view purpose) const {
    std::string sealed(nonce_bytes + text.size() + tag_bytes, '\0');
    unsigned char* const nonce = bytes_of(sealed);
    unsigned char* const content = nonce + nonce_bytes;
    const Cipher cipher(EVP_CIPHER_CTX_new());
    int written = 0;
    const bool is_done =
        cipher != nullptr && RAND_bytes(nonce, static_cast<int>(nonce_bytes)) == 1 &&
        EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key_.data(), nonce) == 1 &&
        EVP_EncryptUpdate(cipher.get(), nullptr, &written, bytes_of(purpose),
                          static_cast<int>(purpose.size())) == 1 &&
        EVP_EncryptUpdate(cipher.get(), content, &written, bytes_of(text), static_cast<int>(text.size())) ==
            1 &&
        EVP_EncryptFinal_ex(cipher.get(), content + text.size(), &written) == 1 &&
        EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(tag_bytes),
                            content + text.size()) == 1;
    if (!is_done)
        return failed();
    return base64(sealed);
}

Result<std::string> Seal::unseal(std::string_view sealed, std::string_view purpose) const {
    auto bytes = from_base64(sealed);
    if (!bytes || bytes->size() < nonce_bytes + tag_bytes)
        return not_ours();
    const std::size_t size = bytes->size() - nonce_bytes - tag_bytes;
    unsigned char* const nonce = bytes_of(*bytes);
    unsigned char* const content = nonce + nonce_bytes;
    std::string text(size + 1, '\0');
    const Cipher cipher(EVP_CIPHER_CTX_new());
    int written = 0;
    const bool is_done =
        cipher != nullptr &&
        EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key_.data(), nonce) == 1 &&
        EVP_DecryptUpdate(cipher.get(), nullptr, &written, bytes_of(purpose),
                          static_cast<int>(purpose.size())) == 1 &&
        EVP_DecryptUpdate(cipher.get(), bytes_of(text), &written, content, static_cast<int>(size)) == 1 &&
        EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(tag_bytes),
                            content + size) == 1 &&
        EVP_DecryptFinal_ex(cipher.get(), bytes_of(text) + size, &written) == 1;
    if (!is_done)
        return not_ours();
    text.resize(size);
    return text;
}

std::string sha256_hex(std::string_view text) {
    constexpr std::size_t digest_bytes = 32;
    std::array<unsigned char, digest_bytes> digest = {};
    EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
    std::string letters;
    for (const unsigned char byte : digest)
        letters += fmt::format("{:02x}", byte);
    return letters;
}

} // namespace etna::server

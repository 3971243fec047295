#pragma once

#include "core/base/result.hpp"

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

namespace etna::server {

/// Authenticated encryption for state that clients store for this server: AES-256-GCM with a random nonce, in
/// base64. Thread-safe.
class Seal {
public:
    /// Uses a random key that is lost when the process ends.
    static Result<Seal> temporary();

    /// Uses the key in a file, created with mode 0600 if missing. Errors: io, corrupt (not a key file; names
    /// the file).
    static Result<Seal> open(const std::filesystem::path& file);

    /// `purpose` is bound to the ciphertext: unseal() fails with any other. Errors: internal (the library
    /// failed).
    [[nodiscard]] Result<std::string> seal(std::string_view text, std::string_view purpose) const;

    /// Errors: invalid_argument (not sealed by this key, or modified).
    [[nodiscard]] Result<std::string> unseal(std::string_view sealed, std::string_view purpose) const;

private:
    static constexpr std::size_t key_bytes = 32;
    using Key = std::array<unsigned char, key_bytes>;

    explicit Seal(const Key& key) : key_(key) {}

    Key key_;
};

/// The bytes in base64, with padding.
std::string base64(std::string_view bytes);

/// SHA-256 of a text, in hexadecimal.
std::string sha256_hex(std::string_view text);

} // namespace etna::server

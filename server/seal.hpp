#pragma once

#include "core/base/result.hpp"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace etna::server {

/// Seals texts that clients keep for this server, and that nobody else can read or change: AES-256-GCM with a
/// random nonce, in base64. Thread-safe.
class Seal {
public:
    /// With a key that ends with the process.
    static Result<Seal> temporary();

    /// With the key in a file, 0600, which is made where it is missing. Errors: io, corrupt (no such key;
    /// says which file).
    static Result<Seal> open(const std::filesystem::path& file);

    /// `purpose` is part of what is sealed: a text of another one does not open. Errors: internal (the
    /// library failed).
    [[nodiscard]] Result<std::string> seal(std::string_view text, std::string_view purpose) const;

    /// Errors: invalid_argument (not sealed here, or changed).
    [[nodiscard]] Result<std::string> unseal(std::string_view sealed, std::string_view purpose) const;

private:
    static constexpr std::size_t key_bytes = 32;
    using Key = std::array<unsigned char, key_bytes>;

    explicit Seal(const Key& key) : key_(key) {}

    Key key_;
};

/// SHA-256 of a text, in hexadecimal: who has it cannot tell the text.
std::string fingerprint(std::string_view text);

} // namespace etna::server

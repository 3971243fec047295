#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace etna::store {

/// SHA-256 (FIPS 180-4) of bytes that come in pieces, by OpenSSL.
class Sha256 {
public:
    Sha256();
    Sha256(const Sha256&) = delete;
    Sha256& operator=(const Sha256&) = delete;
    ~Sha256();

    void add(ByteView bytes);

    /// Returns 64 hexadecimal digits in lower case. Call once.
    std::string hex();

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Whether the text has the form that hex() returns.
bool is_sha256_hex(std::string_view text);

/// Returns the SHA-256 of a file in hexadecimal. `on_bytes`, if present, receives the bytes read so far and
/// returns false to stop. Blocks. Errors: not_found, io, cancelled.
Result<std::string> sha256_of_file(const std::filesystem::path& path,
                                   const std::function<bool(uint64_t done_bytes)>& on_bytes = {});

} // namespace etna::store

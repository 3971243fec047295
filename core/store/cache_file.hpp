#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace etna::store {

/// What can be computed again, kept in a file with the key that it holds for and a checksum (FNV-1a, 64
/// bits).
constexpr uint64_t cache_file_bytes_max = 256 * mebibyte;

/// 64 bits of FNV-1a (Fowler, Noll, Vo), from `seed` on.
uint64_t fnv1a(ByteView bytes, uint64_t seed = 0xcbf29ce484222325U);

/// The content that was written under this key; empty for a file that is missing, longer than
/// cache_file_bytes_max, of another key, or damaged.
std::optional<std::vector<std::byte>> read_cache_file(const std::filesystem::path& path,
                                                      std::string_view key);

/// Writes the file whole or not at all, and the folders above it, readable by the user alone. Several
/// processes may do so at once: the last one's stays. Errors: io.
Status write_cache_file(const std::filesystem::path& path, std::string_view key, ByteView content);

} // namespace etna::store

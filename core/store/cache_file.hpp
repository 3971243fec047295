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

/// Recomputable data in a file, stored with its key and a checksum (FNV-1a, 64 bits).
constexpr uint64_t cache_file_bytes_max = 256 * mebibyte;

/// 64-bit FNV-1a hash (Fowler, Noll, Vo), starting from `seed`.
uint64_t fnv1a(ByteView bytes, uint64_t seed = 0xcbf29ce484222325U);

/// Returns the content written under this key; empty if the file is missing, longer than
/// cache_file_bytes_max, written under another key, or damaged.
std::optional<std::vector<std::byte>> read_cache_file(const std::filesystem::path& path,
                                                      std::string_view key);

/// Writes the file atomically and creates its parent folders, readable only by the user. Concurrent writes by
/// several processes are safe; the last one wins. Errors: io.
Status write_cache_file(const std::filesystem::path& path, std::string_view key, ByteView content);

} // namespace etna::store

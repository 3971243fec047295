#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"

#include <filesystem>
#include <span>

namespace etna {

/// Writes a file of these parts whole or not at all, and the folders above it, readable by the user alone.
/// Several processes may do so at once: the last one's stays. Blocking. Error: io.
Status write_whole_file(const std::filesystem::path& path, std::span<const ByteView> parts);

} // namespace etna

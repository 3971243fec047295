#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"

#include <filesystem>
#include <span>

namespace etna {

/// Atomically writes a file from these parts and creates its parent directories, readable by the user only.
/// Several processes may write concurrently: the last one wins. Blocks. Error: io.
Status write_whole_file(const std::filesystem::path& path, std::span<const ByteView> parts);

} // namespace etna

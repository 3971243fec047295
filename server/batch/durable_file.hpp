#pragma once

#include "core/base/result.hpp"

#include <filesystem>
#include <string_view>

namespace etna::server::batch {

/// Atomically replaces a file, readable by the user only: after a kill or a power loss it has either its old
/// or its new content. Blocks. Error: io.
Status write_durable_file(const std::filesystem::path& path, std::string_view text);

/// Atomically renames a complete file: after a kill or a power loss the name refers to either the old or the
/// new file. Removes `partial` on failure. Blocks. Error: io.
Status rename_durably(const std::filesystem::path& partial, const std::filesystem::path& path);

/// Syncs a folder, so that new names in it are durable, as far as the file system can. Blocks.
void sync_folder(const std::filesystem::path& folder);

} // namespace etna::server::batch

#pragma once

#include "core/base/result.hpp"

#include <filesystem>
#include <string_view>

namespace etna::server::batch {

/// Replaces a file by this text, readable by the user only: after a kill or a loss of power it is the old or
/// the new one. Blocks. Error: io.
Status write_durable_file(const std::filesystem::path& path, std::string_view text);

/// Gives a complete file its name: after a kill or a loss of power the name is that of the old or the new
/// one. Removes `partial` if it fails. Blocks. Error: io.
Status rename_durably(const std::filesystem::path& partial, const std::filesystem::path& path);

/// Makes new names in a folder durable, as far as the file system can. Blocks.
void sync_folder(const std::filesystem::path& folder);

} // namespace etna::server::batch

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace etna::store {

// When a model was used last: the modification time of a small file in the folder of models, `used/HASH`,
// whose content is the model's name.

/// Records that the model is used now, if the folder exists and can be written. Paths are not recorded.
void note_use(std::string_view name, const std::filesystem::path& models_folder);

/// Returns the time of the last use in seconds since 1970; empty if unknown.
std::optional<int64_t> last_use_unix_s(std::string_view name, const std::filesystem::path& models_folder);

/// Removes the record of a model that is removed.
void forget_use(std::string_view name, const std::filesystem::path& models_folder);

} // namespace etna::store

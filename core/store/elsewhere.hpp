#pragma once

#include "core/base/error.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace etna::store {

// Errors for models that are not installed, or not in GGUF.

/// Returns "get a GGUF file, for example from ..., put it into FOLDER, or give its path". `wanted` is the
/// search text; an empty folder means none.
std::string how_to_get(std::string_view wanted, const std::filesystem::path& models_folder);

/// Returns not_found for a name that refers to a remote repository, such as hf.co/USER/REPO:Q8_0; empty for
/// others.
std::optional<Error> remote_model(std::string_view model, const std::filesystem::path& models_folder);

/// Returns invalid_argument for a folder or a file of weights in another format; empty for other files. Reads
/// the folder.
std::optional<Error> foreign_weights(const std::filesystem::path& path);

} // namespace etna::store

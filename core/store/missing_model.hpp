#pragma once

#include "core/base/error.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace etna::store {

// Errors for models that are not installed, or not in GGUF.

/// Returns "get a GGUF file, for example from ..., put it into FOLDER, or give its path". An empty
/// folder means none.
std::string download_hint(std::string_view search_text, const std::filesystem::path& models_folder);

/// Returns not_found for a name that refers to a remote repository, such as hf.co/USER/REPO:Q8_0; empty for
/// others.
std::optional<Error> remote_model(std::string_view model, const std::filesystem::path& models_folder);

/// Returns invalid_argument for a folder or a file of weights in another format; empty for other files. Reads
/// the folder.
std::optional<Error> other_format(const std::filesystem::path& path);

} // namespace etna::store

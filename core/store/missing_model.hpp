#pragma once

#include "core/base/error.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace etna::store {

// Errors for models that are not installed, or not in GGUF.

/// Returns "fetch one with ..., or get a GGUF file, put it into FOLDER, or give its path". An empty folder
/// means none.
std::string download_hint(std::string_view search_text, const std::filesystem::path& models_folder);

/// Returns not_found for a name of a remote model; the hint is the command that fetches it.
Error not_fetched(std::string_view model);

/// Returns not_found for a name of a registry other than the Hugging Face hub; empty for others.
std::optional<Error> other_registry(std::string_view model, const std::filesystem::path& models_folder);

/// Returns invalid_argument for a folder or a file of weights in another format; empty for other files. Reads
/// the folder.
std::optional<Error> other_format(const std::filesystem::path& path);

} // namespace etna::store

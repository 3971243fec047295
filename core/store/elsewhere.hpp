#pragma once

#include "core/base/error.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace etna::store {

// Models that are not here, or not in a form that can be run: what to say to who names one.

/// "get a GGUF file, for example from ..., put it into FOLDER, or give its path". `wanted` is what to search
/// for; an empty folder is none.
std::string how_to_get(std::string_view wanted, const std::filesystem::path& models_folder);

/// Of a name that means a place on the network, such as hf.co/USER/REPO:Q8_0: not_found. Empty for others.
std::optional<Error> remote_model(std::string_view model, const std::filesystem::path& models_folder);

/// Of a folder or a file of weights in another format: invalid_argument. Empty for other files. Reads the
/// folder.
std::optional<Error> foreign_weights(const std::filesystem::path& path);

} // namespace etna::store

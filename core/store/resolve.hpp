#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace etna::store {

/// Where a model's bytes are: in a file, or embedded in the executable.
struct ModelSource {
    std::string name;           ///< for people and for JSON: as the user wrote it
    std::filesystem::path path; ///< empty for an embedded model
    ByteView bytes;             ///< an embedded model's; empty for a file
};

/// Turns what a user calls a model into its place. The embedded models have their names. Anything with a
/// slash, ending in .gguf, or naming an existing file is a path. Everything else is a name:
/// `models_folder`/NAME.gguf, or the first part of a split model, `models_folder`/NAME-00001-of-0000N.gguf.
/// An empty `models_folder` is none. The file is not opened. Errors: not_found (says what was tried; the hint
/// has near misses, where to get a model and the names that exist), invalid_argument (empty; a folder, or
/// weights in another format).
Result<ModelSource> resolve(std::string_view model, const std::filesystem::path& models_folder);

/// A model in a folder.
struct ModelFile {
    std::string name;           ///< as resolve() finds it by
    std::filesystem::path path; ///< of its first part
};

/// The models in the folder, by name, each name once; empty where the folder is missing or unreadable.
std::vector<ModelFile> model_files(const std::filesystem::path& models_folder);

/// Their names, sorted.
std::vector<std::string> model_names(const std::filesystem::path& models_folder);

} // namespace etna::store

#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/store/foreign_models.hpp"
#include "core/store/manifest.hpp"

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace etna::store {

/// The source of a model's bytes: a file, or the executable for an embedded model.
struct ModelSource {
    std::string name;                              ///< as the user wrote it, for messages and JSON
    std::filesystem::path path;                    ///< empty for an embedded model
    ByteView bytes;                                ///< content of an embedded model; empty for a file
    std::vector<std::filesystem::path> parts = {}; ///< all files of a split model whose names are not those
                                                   ///< of parts, in order; empty for others
    std::vector<PresetOption> options = {};        ///< that the stored model sets
};

/// Resolves a MODEL argument to files or an embedded model. Embedded models go by their names. Anything with
/// a slash, ending in .gguf, or naming an existing file is a path, if it exists. Everything else is a name,
/// looked up in this order: a manifest (ModelStore::find()), `models_folder`/NAME.gguf or the first part of a
/// split model, `models_folder`/NAME-00001-of-0000N.gguf, and a model of another program in `foreign`. An
/// empty `models_folder` means none. Models are not opened. Errors: not_found (names the paths tried; the
/// hint has near misses, a download source and the existing names, or the command that fetches the model),
/// invalid_argument (empty; a folder, or weights in another format); those of parse_manifest().
Result<ModelSource> resolve(std::string_view model, const std::filesystem::path& models_folder,
                            const ForeignFolders& foreign = {});

/// As resolve(), for a name from another machine: the argument is never read as a path. Errors: not_found,
/// invalid_argument (empty, or a zero byte); those of parse_manifest().
Result<ModelSource> resolve_name(std::string_view model, const std::filesystem::path& models_folder,
                                 const ForeignFolders& foreign = {});

/// A model in a folder.
struct ModelFile {
    std::string name;           ///< accepted by resolve()
    std::filesystem::path path; ///< of its first part, if split
};

/// Returns the models in the folder, sorted by name, each name once; empty if the folder is missing or
/// unreadable.
std::vector<ModelFile> model_files(const std::filesystem::path& models_folder);

/// Returns the names of the models in the folder, sorted.
std::vector<std::string> model_names(const std::filesystem::path& models_folder);

} // namespace etna::store

#include "core/store/resolve.hpp"

#include "core/base/near_names.hpp"
#include "core/gguf/cursor.hpp"
#include "core/gguf/split.hpp"
#include "core/store/embedded.hpp"
#include "core/store/known_models.hpp"
#include "core/store/missing_model.hpp"
#include "core/store/model_name.hpp"
#include "core/store/model_store.hpp"
#include "core/store/pull.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::store {
namespace {

constexpr std::string_view extension = ".gguf";
constexpr std::size_t listed_names_max = 12;

/// Returns false only if nothing exists at the path; opening it reports any other error.
bool is_there(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::status(path, ignored).type() != std::filesystem::file_type::not_found;
}

/// Returns "NAME" for "NAME-00001-of-00003"; the full stem for any other file; empty for the later parts of a
/// split model.
std::optional<std::string> name_of(const std::string& stem) {
    constexpr std::string_view pattern = "-ddddd-of-ddddd";
    if (stem.size() <= pattern.size())
        return stem;
    const std::string_view tail = std::string_view(stem).substr(stem.size() - pattern.size());
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const bool digit = tail[i] >= '0' && tail[i] <= '9';
        if (pattern[i] == 'd' ? !digit : tail[i] != pattern[i])
            return stem;
    }
    if (tail.substr(1, 5) != "00001")
        return std::nullopt;
    return stem.substr(0, stem.size() - pattern.size());
}

/// Calls visit(name, path) for each model in the folder.
template <class Visit>
void for_each_model(const std::filesystem::path& folder, Visit visit) {
    std::error_code failure;
    std::filesystem::directory_iterator entry(folder, failure);
    for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
        if (!gguf::has_gguf_extension(entry->path().filename().string()))
            continue;
        if (const auto name = name_of(entry->path().stem().string()))
            visit(*name, entry->path());
    }
}

/// Returns the files of a stored model; `name` is as the user wrote it. Errors: not_found (a file is gone).
Result<ModelSource> source_of(std::string_view name, const Manifest& manifest, const ModelStore& models) {
    ModelSource source{.name = std::string(name), .path = {}, .bytes = {}, .options = manifest.options};
    std::vector<std::filesystem::path> parts;
    for (const StoredFile& file : manifest.files) {
        if (!file.embedded.empty()) {
            source.bytes = embedded_model(file.embedded)->bytes;
            continue;
        }
        const std::filesystem::path path = models.path_of(file);
        if (!is_there(path)) {
            return Error{ErrorKind::not_found,
                         fmt::format("the stored model {} needs {}, which is not there",
                                     gguf::backquoted(manifest.name), path.string()),
                         fmt::format("it came from {}; pull or create it again", manifest.source)};
        }
        if (file.role == FileRole::model) {
            parts.push_back(path);
        } else {
            source.options.push_back({"chat-template", {path.string()}});
        }
    }
    if (!parts.empty())
        source.path = parts.front();
    if (parts.size() > 1)
        source.parts = std::move(parts);
    return source;
}

/// Returns the model of a manifest; empty if there is none of that name.
std::optional<Result<ModelSource>> resolve_stored(std::string_view model,
                                                  const std::filesystem::path& folder) {
    const ModelStore models(folder);
    const auto manifest = models.find(model);
    if (manifest)
        return source_of(model, *manifest, models);
    if (manifest.error().kind != ErrorKind::not_found)
        return manifest.error();
    return std::nullopt;
}

/// Returns the file of this name in the folder; empty if there is none.
std::optional<ModelSource> resolve_in_folder(std::string_view model, const std::filesystem::path& folder) {
    for (ModelFile& file : model_files(folder)) {
        if (file.name == model)
            return ModelSource{std::string(model), std::move(file.path), {}};
    }
    return std::nullopt;
}

/// Returns the model of another program; empty if there is none of that name.
std::optional<ModelSource> resolve_foreign(std::string_view model, const ForeignFolders& folders) {
    auto found = find_foreign(model, folders);
    if (!found)
        return std::nullopt;
    ModelSource source{std::string(model), found->parts.front(), {}};
    if (found->parts.size() > 1)
        source.parts = std::move(found->parts);
    return source;
}

Error name_not_found(std::string_view model, const std::filesystem::path& folder) {
    std::vector<std::string> known = model_names(folder);
    for (const Manifest& manifest : ModelStore(folder).list().manifests)
        known.push_back(manifest.name);
    std::sort(known.begin(), known.end());
    for (const EmbeddedModel& embedded : embedded_models()) {
        std::erase(known, embedded.name); // the name refers to the embedded model, not to such a file
        known.emplace_back(embedded.name);
    }

    std::vector<std::string> near_candidates = known;
    std::vector<std::string> families;
    for (const KnownModel& remote : known_models()) {
        near_candidates.emplace_back(remote.name);
        if (is_usual(remote))
            families.emplace_back(remote.family());
    }
    auto near = near_names(model, near_candidates);
    if (near.empty())
        near = near_names(model, families);
    std::string hint = near.empty() ? "" : fmt::format("did you mean `{}`? ", fmt::join(near, "` or `"));
    const std::size_t listed = std::min(known.size(), listed_names_max);
    hint += fmt::format("{}; models that exist: {}", download_hint(model, folder),
                        fmt::join(known.end() - static_cast<std::ptrdiff_t>(listed), known.end(), ", "));
    if (listed < known.size())
        hint += fmt::format(" and {} more", known.size() - listed);
    const std::string tried = folder.empty()
                                  ? "folder of models: neither HOME nor XDG_DATA_HOME is an absolute path"
                                  : (folder / fmt::format("{}{}", model, extension)).string();
    return {ErrorKind::not_found,
            fmt::format("no model {}: no such file, and no {}", gguf::backquoted(model), tried), hint};
}

/// Returns the error for a name of nothing on this machine. `is_path`: it has a slash or ends in .gguf.
Error not_found(std::string_view model, const std::filesystem::path& folder, bool is_path) {
    const auto remote = parse_remote_name(model);
    if (!remote)
        return remote.error();
    if (!std::holds_alternative<LocalModel>(*remote))
        return not_fetched(model);
    if (is_path) {
        return {ErrorKind::not_found, fmt::format("no such file: {}", model),
                "check the path, or use `demo`, the model that is built in"};
    }
    return name_not_found(model, folder);
}

Status check_name(std::string_view model) {
    if (model.empty())
        return invalid_argument("the model's name is empty", "try `demo`");
    if (model.find('\0') != std::string_view::npos)
        return invalid_argument("the model's name contains a zero byte");
    return {};
}

} // namespace

std::vector<ModelFile> model_files(const std::filesystem::path& models_folder) {
    std::map<std::string, std::filesystem::path> paths;
    for_each_model(models_folder, [&](const std::string& name, const std::filesystem::path& path) {
        std::filesystem::path& known = paths[name];
        if (known.empty() || path.stem() == name) // NAME.gguf takes precedence over NAME-00001-of-0000N.gguf
            known = path;
    });
    std::vector<ModelFile> files;
    files.reserve(paths.size());
    for (auto& [name, path] : paths)
        files.push_back({name, std::move(path)});
    return files;
}

std::vector<std::string> model_names(const std::filesystem::path& models_folder) {
    std::vector<std::string> names;
    for (ModelFile& file : model_files(models_folder))
        names.push_back(std::move(file.name));
    return names;
}

Result<ModelSource> resolve(std::string_view model, const std::filesystem::path& models_folder,
                            const ForeignFolders& foreign) {
    ETNA_CHECK(check_name(model));
    if (const EmbeddedModel* embedded = embedded_model(model))
        return ModelSource{std::string(model), {}, embedded->bytes};

    const std::filesystem::path path(model);
    const bool is_path = model.find('/') != std::string_view::npos || gguf::has_gguf_extension(model);
    if (is_path) {
        if (auto error = other_format(path))
            return std::move(*error);
        if (is_there(path))
            return ModelSource{std::string(model), path, {}};
        if (auto error = other_registry(model, models_folder))
            return std::move(*error);
    }
    if (auto stored = resolve_stored(model, models_folder))
        return std::move(*stored);
    if (!is_path) {
        if (auto found = resolve_in_folder(model, models_folder))
            return std::move(*found);
        std::error_code ignored;
        if (std::filesystem::is_regular_file(path, ignored))
            return ModelSource{std::string(model), path, {}};
        if (auto error = other_format(path))
            return std::move(*error);
    }
    if (auto found = resolve_foreign(model, foreign))
        return std::move(*found);
    return not_found(model, models_folder, is_path);
}

Result<ModelSource> resolve_name(std::string_view model, const std::filesystem::path& models_folder,
                                 const ForeignFolders& foreign) {
    ETNA_CHECK(check_name(model));
    if (const EmbeddedModel* embedded = embedded_model(model))
        return ModelSource{std::string(model), {}, embedded->bytes};
    if (auto stored = resolve_stored(model, models_folder))
        return std::move(*stored);
    if (auto found = resolve_in_folder(model, models_folder))
        return std::move(*found);
    if (auto found = resolve_foreign(model, foreign))
        return std::move(*found);
    return not_found(model, models_folder, false);
}

} // namespace etna::store

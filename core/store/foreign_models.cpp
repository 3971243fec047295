#include "core/store/foreign_models.hpp"

#include "core/base/file_reader.hpp"
#include "core/base/json.hpp"
#include "core/gguf/split.hpp"
#include "core/store/hub.hpp"
#include "core/store/model_name.hpp"
#include "core/store/sha256.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace etna::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t entries_max = 100'000; ///< of one folder's tree
constexpr std::size_t ollama_manifest_bytes_max = std::size_t{1} << 20U;

/// The .gguf files in the folder's tree, as a listing.
std::vector<HubFile> files_below(const fs::path& folder) {
    std::vector<HubFile> files;
    std::error_code failure;
    fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, failure);
    for (std::size_t count = 0;
         !failure && entry != fs::recursive_directory_iterator() && count < entries_max;
         entry.increment(failure), ++count) {
        std::error_code ignored;
        const fs::path path = entry->path().lexically_relative(folder);
        if (gguf::has_gguf_extension(path.string()) && fs::is_regular_file(entry->path(), ignored) &&
            check_relative_path(path.string()))
            files.push_back({path.string(), entry->file_size(ignored), {}});
    }
    return files;
}

std::vector<fs::path> folders_in(const fs::path& folder) {
    std::vector<fs::path> folders;
    std::error_code failure;
    fs::directory_iterator entry(folder, failure);
    for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
        std::error_code ignored;
        if (entry->is_directory(ignored))
            folders.push_back(entry->path());
    }
    std::sort(folders.begin(), folders.end());
    return folders;
}

/// A repository of the hub on the disk.
struct LocalRepository {
    HubModel model; ///< without a quantisation
    fs::path folder;
    ModelOwner owner = ModelOwner::hugging_face;
};

std::optional<FoundModel> found_in(const LocalRepository& repository, const std::vector<HubFile>& files,
                                   const std::string& quantisation) {
    HubModel model = repository.model;
    model.quantisation = quantisation;
    const auto chosen = choose_files(model, files);
    if (!chosen)
        return std::nullopt;
    FoundModel found = {.owner = repository.owner, .name = to_string(model), .parts = {}, .bytes = 0};
    for (const HubFile& part : chosen->parts) {
        found.parts.push_back(repository.folder / part.path);
        found.bytes += part.bytes;
    }
    return found;
}

/// Each model once, by its quantisation if that is enough.
void add_models(const LocalRepository& repository, std::vector<FoundModel>& models) {
    const std::vector<HubFile> files = files_below(repository.folder);
    std::set<fs::path> seen;
    for (const HubFile& file : files) {
        const std::string quantisation = quantisation_of(file.path);
        auto found = quantisation.empty() ? std::nullopt : found_in(repository, files, quantisation);
        if (!found)
            found = found_in(repository, files, file.path);
        if (found && seen.insert(found->parts.front()).second)
            models.push_back(std::move(*found));
    }
}

/// The commit that a branch of the hub's cache leads to; empty if unknown.
std::string commit_of(const fs::path& repository, std::string_view branch) {
    constexpr uint64_t commit_digits = 40;
    const auto file = FileReader::open(repository / "refs" / branch);
    if (!file || file->bytes() < commit_digits)
        return {};
    std::string commit(commit_digits, '\0');
    return file->read(0, std::as_writable_bytes(std::span(commit))) ? commit : std::string();
}

/// Returns the snapshots in a cache of the hub. That of the main branch, or the only one, has no revision.
std::vector<LocalRepository> cached_repositories(const fs::path& cache) {
    constexpr std::string_view prefix = "models--";
    std::vector<LocalRepository> repositories;
    for (const fs::path& folder : folders_in(cache)) {
        const std::string name = folder.filename().string();
        const std::size_t middle = name.find("--", prefix.size());
        if (!name.starts_with(prefix) || middle == std::string::npos)
            continue;
        HubModel model = {.user = name.substr(prefix.size(), middle - prefix.size()),
                          .repository = name.substr(middle + 2),
                          .quantisation = {},
                          .revision = {}};
        if (!parse_model_name(to_string(model)))
            continue;
        const std::string main = commit_of(folder, "main");
        const std::vector<fs::path> snapshots = folders_in(folder / "snapshots");
        for (const fs::path& snapshot : snapshots) {
            const std::string commit = snapshot.filename().string();
            model.revision = commit == main || snapshots.size() == 1 ? "" : commit;
            repositories.push_back({model, snapshot, ModelOwner::hugging_face});
        }
    }
    return repositories;
}

/// llama.cpp's files: "USER_REPO_FILE.gguf" or any other.
std::vector<HubFile> llama_files(const fs::path& folder) {
    std::vector<HubFile> files = files_below(folder);
    std::erase_if(files, [](const HubFile& file) { return file.path.find('/') != std::string::npos; });
    std::sort(files.begin(), files.end(), [](const HubFile& a, const HubFile& b) { return a.path < b.path; });
    return files;
}

void add_llama_models(const fs::path& folder, std::vector<FoundModel>& models) {
    const std::vector<HubFile> files = llama_files(folder);
    std::map<std::string, FoundModel> by_name;
    for (const HubFile& file : files) {
        if (file.path.find("mmproj") != std::string::npos)
            continue;
        const auto split = gguf::parse_split_name(file.path);
        const std::string name = split ? split->prefix : fs::path(file.path).stem().string();
        FoundModel& found = by_name[name];
        found.owner = ModelOwner::llama_cpp;
        found.name = name;
        found.parts.push_back(folder / file.path);
        found.bytes += file.bytes;
    }
    for (auto& [name, found] : by_name) {
        const auto split = gguf::parse_split_name(found.parts.front());
        if (!split || split->count == found.parts.size())
            models.push_back(std::move(found));
    }
}

/// llama.cpp puts user and repository before the file's name.
std::optional<FoundModel> find_in_llama(const HubModel& model, const fs::path& folder) {
    const std::string prefix = fmt::format("{}_{}_", model.user, model.repository);
    std::vector<HubFile> files = llama_files(folder);
    std::erase_if(files, [&](const HubFile& file) { return !file.path.starts_with(prefix); });
    return found_in({model, folder, ModelOwner::llama_cpp}, files, model.quantisation);
}

/// Reads a manifest of Ollama's; empty if it cannot be read.
std::vector<std::string> weights_of(const fs::path& manifest) {
    const auto file = FileReader::open(manifest);
    if (!file || file->bytes() > ollama_manifest_bytes_max)
        return {};
    std::string text(file->bytes(), '\0');
    if (!file->read(0, std::as_writable_bytes(std::span(text))))
        return {};
    return parse_ollama_manifest(text);
}

/// Returns "NAME:TAG" as Ollama prints it, without the default registry and user; empty for another path.
std::string ollama_name(const fs::path& path) {
    std::vector<std::string> parts;
    for (const fs::path& part : path)
        parts.push_back(part.string());
    if (parts.size() != 4) // REGISTRY/USER/MODEL/TAG
        return {};
    const std::string model = fmt::format("{}:{}", parts[2], parts[3]);
    if (parts[0] != "registry.ollama.ai")
        return fmt::format("{}/{}/{}", parts[0], parts[1], model);
    return parts[1] == "library" ? model : fmt::format("{}/{}", parts[1], model);
}

void add_ollama_models(const fs::path& root, std::vector<FoundModel>& models) {
    const fs::path manifests = root / "manifests";
    std::error_code failure;
    fs::recursive_directory_iterator entry(manifests, fs::directory_options::skip_permission_denied, failure);
    for (std::size_t count = 0;
         !failure && entry != fs::recursive_directory_iterator() && count < entries_max;
         entry.increment(failure), ++count) {
        FoundModel found = {.owner = ModelOwner::ollama,
                            .name = ollama_name(entry->path().lexically_relative(manifests)),
                            .parts = {},
                            .bytes = 0};
        std::error_code ignored;
        if (found.name.empty() || !entry->is_regular_file(ignored))
            continue;
        bool is_complete = true;
        for (const std::string& sum : weights_of(entry->path())) {
            std::error_code missing;
            fs::path blob = root / "blobs" / fmt::format("sha256-{}", sum);
            found.bytes += fs::file_size(blob, missing);
            is_complete = is_complete && !missing;
            found.parts.push_back(std::move(blob));
        }
        if (is_complete && !found.parts.empty())
            models.push_back(std::move(found));
    }
}

void sort_by_name(std::vector<FoundModel>& models) {
    std::sort(models.begin(), models.end(), [](const FoundModel& a, const FoundModel& b) {
        return std::tie(a.owner, a.name) < std::tie(b.owner, b.name);
    });
}

std::optional<FoundModel> find_repository_file(const HubModel& model, const ForeignFolders& folders) {
    for (const fs::path& cache : folders.hugging_face) {
        for (const LocalRepository& repository : cached_repositories(cache)) {
            const bool is_same = repository.model.user == model.user &&
                                 repository.model.repository == model.repository &&
                                 repository.model.revision == model.revision;
            auto found = is_same ? found_in(repository, files_below(repository.folder), model.quantisation)
                                 : std::nullopt;
            if (found)
                return found;
        }
    }
    for (const fs::path& folder : folders.llama_cpp) {
        auto found = model.revision.empty() ? find_in_llama(model, folder) : std::nullopt;
        if (found)
            return found;
    }
    return std::nullopt;
}

} // namespace

std::string_view to_string(ModelOwner owner) {
    constexpr std::array<std::string_view, 3> names = {"Hugging Face", "llama.cpp", "Ollama"};
    return names[static_cast<std::size_t>(owner)];
}

std::vector<std::string> parse_ollama_manifest(std::string_view text) {
    constexpr int depth_max = 8;
    constexpr std::string_view digest_prefix = "sha256:";
    std::vector<std::string> sums;
    const Json json = parse_json(text, depth_max);
    if (!json.is_object())
        return sums;
    const auto layers = json.find("layers");
    if (layers == json.end() || !layers->is_array())
        return sums;
    for (const Json& layer : *layers) {
        if (!layer.is_object() || layer.value("mediaType", Json()) != "application/vnd.ollama.image.model")
            continue;
        const Json digest = layer.value("digest", Json());
        const std::string sum = digest.is_string() ? digest.get<std::string>() : std::string();
        if (sum.starts_with(digest_prefix) && is_sha256_hex(sum.substr(digest_prefix.size())))
            sums.push_back(sum.substr(digest_prefix.size()));
    }
    return sums;
}

std::vector<FoundModel> foreign_models(const ForeignFolders& folders) {
    std::vector<FoundModel> models;
    for (const fs::path& cache : folders.hugging_face) {
        for (const LocalRepository& repository : cached_repositories(cache))
            add_models(repository, models);
    }
    for (const fs::path& folder : folders.llama_cpp)
        add_llama_models(folder, models);
    for (const fs::path& folder : folders.ollama)
        add_ollama_models(folder, models);
    sort_by_name(models);
    return models;
}

std::optional<FoundModel> find_foreign(std::string_view name, const ForeignFolders& folders) {
    const auto parsed = parse_remote_name(name);
    if (const auto* model = parsed ? std::get_if<HubModel>(&*parsed) : nullptr) {
        if (auto found = find_repository_file(*model, folders))
            return found;
    }
    const std::string tagged =
        name.find(':') == std::string_view::npos ? fmt::format("{}:latest", name) : std::string(name);
    for (FoundModel& model : foreign_models({.llama_cpp = folders.llama_cpp, .ollama = folders.ollama})) {
        if (model.name == name || model.name == tagged)
            return std::move(model);
    }
    return std::nullopt;
}

} // namespace etna::store

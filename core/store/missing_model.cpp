#include "core/store/missing_model.hpp"

#include "core/gguf/cursor.hpp"

#include <algorithm>
#include <array>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace etna::store {
namespace {

constexpr std::string_view hub = "https://huggingface.co/";
constexpr std::size_t searched_bytes_max = 64;

/// Encodes text for a URL query: letters, digits and a few marks are unchanged, anything else becomes a plus.
std::string query_text(std::string_view text) {
    std::string query;
    for (const char c : text.substr(0, searched_bytes_max)) {
        const bool is_kept = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             c == '.' || c == '-' || c == '_';
        query += is_kept ? c : '+';
    }
    return query;
}

std::string install_hint(const std::filesystem::path& models_folder) {
    return models_folder.empty() ? "and give its path"
                                 : fmt::format("put it into {} and name it without .gguf, or give its path",
                                               models_folder.string());
}

/// Returns the part after the host of a reference to the hub: "USER/REPO:Q8_0". Empty if it is not such a
/// reference.
std::optional<std::string_view> hub_reference(std::string_view model) {
    for (const std::string_view scheme : {"https://", "http://"}) {
        if (model.starts_with(scheme))
            model.remove_prefix(scheme.size());
    }
    for (const std::string_view host : {"hf.co/", "huggingface.co/", "hf://"}) {
        if (model.starts_with(host))
            return model.substr(host.size());
    }
    return std::nullopt;
}

bool is_remote(std::string_view model) {
    constexpr std::array<std::string_view, 6> prefixes = {
        "https://", "http://", "ollama.com/", "registry.ollama.ai/", "ollama://", "docker://"};
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return model.starts_with(prefix); });
}

/// Returns whether this is "USER/REPO" or "USER/REPO:Q8_0", as llama.cpp accepts them, and does not look like
/// a file.
bool is_repository(std::string_view model) {
    return std::count(model.begin(), model.end(), '/') == 1 && !model.ends_with('/') &&
           std::string_view("/.~").find(model.front()) == std::string_view::npos && !model.ends_with(".gguf");
}

std::string converting(const std::filesystem::path& folder) {
    return fmt::format("etna runs GGUF files: look for one of the same model, or make one with llama.cpp's "
                       "script, `python3 convert_hf_to_gguf.py {} --outfile MODEL.gguf`",
                       folder.string());
}

/// Returns the names of the folder's files with that extension, sorted.
std::vector<std::string> files_with(const std::filesystem::path& folder, std::string_view extension) {
    std::vector<std::string> names;
    std::error_code failure;
    std::filesystem::directory_iterator entry(folder, failure);
    for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
        if (entry->path().extension() == extension)
            names.push_back(entry->path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace

std::string download_hint(std::string_view search_text, const std::filesystem::path& models_folder) {
    return fmt::format("etna does not download models yet: get a GGUF file, for example from "
                       "{}models?library=gguf&search={}, {}",
                       hub, query_text(search_text), install_hint(models_folder));
}

std::optional<Error> remote_model(std::string_view model, const std::filesystem::path& models_folder) {
    auto reference = hub_reference(model);
    if (!reference && !is_remote(model) && is_repository(model))
        reference = model;
    if (!reference && !is_remote(model))
        return std::nullopt;
    Error error = {
        ErrorKind::not_found,
        fmt::format("{} is not a file, and etna does not download models yet", gguf::backquoted(model))};
    if (!reference) {
        error.hint = fmt::format("get it as a GGUF file, {}", install_hint(models_folder));
        return error;
    }
    const std::size_t colon = std::min(reference->find(':'), reference->size());
    const std::string_view tag = reference->substr(std::min(colon + 1, reference->size()));
    error.hint = fmt::format("get a .gguf file{} from {}{}/tree/main, {}",
                             tag.empty() ? "" : fmt::format(" with {} in its name", tag), hub,
                             reference->substr(0, colon), install_hint(models_folder));
    return error;
}

std::optional<Error> other_format(const std::filesystem::path& path) {
    std::error_code failure;
    if (path.extension() == ".safetensors" && std::filesystem::is_regular_file(path, failure)) {
        const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
        return invalid_argument(fmt::format("{} holds safetensors, not GGUF", path.string()),
                                converting(folder));
    }
    if (!std::filesystem::is_directory(path, failure))
        return std::nullopt;
    if (!files_with(path, ".safetensors").empty()) {
        return invalid_argument(fmt::format("{} is a folder of safetensors", path.string()),
                                converting(path));
    }
    const auto models = files_with(path, ".gguf");
    return invalid_argument(fmt::format("{} is a folder", path.string()),
                            models.empty() ? "give the path to a .gguf file"
                                           : fmt::format("give the path to a file in it, such as {}",
                                                         (path / models.front()).string()));
}

} // namespace etna::store

#include "core/store/missing_model.hpp"

#include "core/gguf/cursor.hpp"
#include "core/gguf/split.hpp"
#include "core/store/hub.hpp"

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::store {
namespace {

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
    return models_folder.empty()
               ? "and give its path"
               : fmt::format("put it into {}, where its name is the file's without .gguf, or give its path",
                             models_folder.string());
}

/// Whether the name is one of another registry.
bool is_of_other_registry(std::string_view model) {
    constexpr std::array<std::string_view, 4> prefixes = {"ollama.com/", "registry.ollama.ai/", "ollama://",
                                                          "docker://"};
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return model.starts_with(prefix); });
}

std::string converting(const std::filesystem::path& folder) {
    return fmt::format("etna runs GGUF files: look for one of the same model, or make one with llama.cpp's "
                       "script, `python3 convert_hf_to_gguf.py {} --outfile MODEL.gguf`",
                       folder.string());
}

bool is_safetensors(std::string_view file_name) {
    return file_name.ends_with(".safetensors");
}

/// Returns the names of the folder's files that `is_wanted` accepts, sorted.
std::vector<std::string> files_with(const std::filesystem::path& folder,
                                    bool (*is_wanted)(std::string_view file_name)) {
    std::vector<std::string> names;
    std::error_code failure;
    std::filesystem::directory_iterator entry(folder, failure);
    for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
        if (std::string name = entry->path().filename().string(); is_wanted(name))
            names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    return names;
}

} // namespace

std::string download_hint(std::string_view search_text, const std::filesystem::path& models_folder) {
    return fmt::format(
        "fetch one with `etna pull hf.co/USER/REPO`, for example of {}/models?library=gguf&search={}; "
        "or get a GGUF file, {}",
        public_hub, query_text(search_text), install_hint(models_folder));
}

Error not_fetched(std::string_view model) {
    return {ErrorKind::not_found, fmt::format("{} is not stored on this machine", gguf::backquoted(model)),
            fmt::format("fetch it with `etna pull {}`", model)};
}

std::optional<Error> other_registry(std::string_view model, const std::filesystem::path& models_folder) {
    if (!is_of_other_registry(model))
        return std::nullopt;
    return Error{
        ErrorKind::not_found,
        fmt::format("{} is of a registry that etna does not fetch from", gguf::backquoted(model)),
        fmt::format("fetch the model from the Hugging Face hub, `etna pull hf.co/USER/REPO`, or get it as "
                    "a GGUF file, {}",
                    install_hint(models_folder))};
}

std::optional<Error> other_format(const std::filesystem::path& path) {
    std::error_code failure;
    if (is_safetensors(path.filename().string()) && std::filesystem::is_regular_file(path, failure)) {
        const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
        return invalid_argument(fmt::format("{} holds safetensors, not GGUF", path.string()),
                                converting(folder));
    }
    if (!std::filesystem::is_directory(path, failure))
        return std::nullopt;
    if (!files_with(path, is_safetensors).empty()) {
        return invalid_argument(fmt::format("{} is a folder of safetensors", path.string()),
                                converting(path));
    }
    const auto models = files_with(path, gguf::has_gguf_extension);
    return invalid_argument(fmt::format("{} is a folder", path.string()),
                            models.empty() ? "give the path to a .gguf file"
                                           : fmt::format("give the path to a file in it, such as {}",
                                                         (path / models.front()).string()));
}

} // namespace etna::store

#include "cli/environment.hpp"

#include <algorithm>
#include <array>
#include <csignal>

namespace etna::cli {
namespace {

/// Returns the path of `below` in the variable's folder, or in `fallback` below the home folder; empty if
/// neither is known.
std::filesystem::path etna_path(const Variables& variables, const char* name, const char* fallback,
                                const char* below) {
    if (const auto found = variables.find(name); found != variables.end()) {
        if (const std::filesystem::path path = found->second; path.is_absolute())
            return path / below;
    }
    if (const auto home = variables.find("HOME"); home != variables.end()) {
        if (const std::filesystem::path path = home->second; path.is_absolute())
            return path / fallback / below;
    }
    return {};
}

/// Returns the folder that a variable names; empty if it is not set.
std::filesystem::path named_folder(const Variables& variables, const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::filesystem::path() : std::filesystem::path(found->second);
}

} // namespace

bool TerminalAnswer::is_yes() const {
    constexpr std::array<std::string_view, 5> agreeing = {"y", "Y", "yes", "Yes", "YES"};
    return kind == Kind::line && std::ranges::find(agreeing, line) != agreeing.end();
}

std::filesystem::path models_folder(const Variables& variables) {
    if (const auto found = variables.find("ETNA_MODELS"); found != variables.end() && !found->second.empty())
        return expand_home(found->second, variables);
    return etna_path(variables, "XDG_DATA_HOME", ".local/share", "etna/models");
}

store::ForeignFolders foreign_folders(const Variables& variables) {
    std::filesystem::path hub = named_folder(variables, "HF_HUB_CACHE");
    if (const auto home = named_folder(variables, "HF_HOME"); hub.empty() && !home.empty())
        hub = home / "hub";
    if (hub.empty())
        hub = etna_path(variables, "XDG_CACHE_HOME", ".cache", "huggingface/hub");
    std::filesystem::path llama = named_folder(variables, "LLAMA_CACHE");
    if (llama.empty())
        llama = etna_path(variables, "XDG_CACHE_HOME", ".cache", "llama.cpp");
    std::vector<std::filesystem::path> ollama = {named_folder(variables, "OLLAMA_MODELS")};
    if (ollama.front().empty())
        ollama = {etna_path(variables, "", ".ollama", "models"), "/usr/share/ollama/.ollama/models"};
    const auto without_unknown = [](std::vector<std::filesystem::path> folders) {
        std::erase(folders, std::filesystem::path());
        return folders;
    };
    return {.hugging_face = without_unknown({hub}),
            .llama_cpp = without_unknown({llama}),
            .ollama = without_unknown(ollama)};
}

std::filesystem::path cache_folder(const Variables& variables) {
    return etna_path(variables, "XDG_CACHE_HOME", ".cache", "etna");
}

std::filesystem::path config_file(const Variables& variables) {
    return etna_path(variables, "XDG_CONFIG_HOME", ".config", "etna/config.toml");
}

std::filesystem::path responses_file(const Variables& variables) {
    return etna_path(variables, "XDG_DATA_HOME", ".local/share", "etna/responses.db");
}

std::filesystem::path runtime_folder(const Variables& variables) {
    if (const std::filesystem::path folder = named_folder(variables, "XDG_RUNTIME_DIR"); folder.is_absolute())
        return folder / "etna";
    return etna_path(variables, "XDG_STATE_HOME", ".local/state", "etna/run");
}

std::string expand_home(const std::string& path, const Variables& variables) {
    const auto home = variables.find("HOME");
    const bool is_at_home = path == "~" || path.starts_with("~/");
    return is_at_home && home != variables.end() ? home->second + path.substr(1) : path;
}

std::string first_variable(const Variables& variables, std::initializer_list<const char*> names) {
    for (const char* name : names) {
        if (const auto found = variables.find(name); found != variables.end() && !found->second.empty())
            return found->second;
    }
    return {};
}

store::HttpSettings network_settings(const Variables& variables) {
    store::HttpSettings settings;
    settings.https_proxy =
        first_variable(variables, {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"});
    settings.http_proxy =
        first_variable(variables, {"http_proxy", "all_proxy", "ALL_PROXY"}); // as curl: HTTP_PROXY is CGI's
    settings.no_proxy = first_variable(variables, {"no_proxy", "NO_PROXY"});
    settings.ca_file = first_variable(variables, {"SSL_CERT_FILE", "CURL_CA_BUNDLE"});
    return settings;
}

std::filesystem::path history_file(const Variables& variables) {
    return etna_path(variables, "XDG_STATE_HOME", ".local/state", "etna/history");
}

ExitCode exit_code_for_signal(int signal) {
    if (signal == 0)
        return ExitCode::interrupted;
    return signal == SIGHUP ? ExitCode::hung_up : ExitCode::terminated;
}

} // namespace etna::cli

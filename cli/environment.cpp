#include "cli/environment.hpp"

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

} // namespace

std::filesystem::path models_folder(const Variables& variables) {
    if (const auto found = variables.find("ETNA_MODELS"); found != variables.end() && !found->second.empty())
        return expand_home(found->second, variables);
    return etna_path(variables, "XDG_DATA_HOME", ".local/share", "etna/models");
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

std::string expand_home(const std::string& path, const Variables& variables) {
    const auto home = variables.find("HOME");
    const bool is_at_home = path == "~" || path.starts_with("~/");
    return is_at_home && home != variables.end() ? home->second + path.substr(1) : path;
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

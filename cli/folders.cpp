#include "cli/folders.hpp"

namespace etna::cli {
namespace {

/// The variable's folder, or `fallback` below the home folder.
std::filesystem::path base(const Variables& variables, const char* name, const char* fallback) {
    if (const auto found = variables.find(name); found != variables.end()) {
        if (std::filesystem::path path = found->second; path.is_absolute())
            return path;
    }
    const auto home = variables.find("HOME");
    return std::filesystem::path(home == variables.end() ? "/" : home->second) / fallback;
}

} // namespace

std::filesystem::path models_folder(const Variables& variables) {
    return base(variables, "XDG_DATA_HOME", ".local/share") / "etna" / "models";
}

std::filesystem::path config_file(const Variables& variables) {
    return base(variables, "XDG_CONFIG_HOME", ".config") / "etna" / "config.toml";
}

} // namespace etna::cli

#pragma once

#include "cli/environment.hpp"

#include <filesystem>
#include <string>

namespace etna::cli {

/// $XDG_DATA_HOME/etna/models, $XDG_CACHE_HOME/etna and $XDG_CONFIG_HOME/etna/config.toml, with the defaults
/// below $HOME that the XDG Base Directory Specification names. Relative values are ignored, as it demands;
/// without an absolute $HOME either the path is empty.
std::filesystem::path models_folder(const Variables& variables);
std::filesystem::path cache_folder(const Variables& variables);
std::filesystem::path config_file(const Variables& variables);

/// $XDG_DATA_HOME/etna/responses.db; empty where it cannot be found.
std::filesystem::path responses_file(const Variables& variables);

/// What a shell makes of a path that begins with `~/`, or is `~`: one below $HOME, where there is that.
std::string expand_home(const std::string& path, const Variables& variables);

/// $XDG_STATE_HOME/etna/history; empty where it cannot be found.
std::filesystem::path history_file(const Variables& variables);

} // namespace etna::cli

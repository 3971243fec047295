#pragma once

#include "cli/environment.hpp"

#include <filesystem>
#include <string>

namespace etna::cli {

/// $XDG_DATA_HOME/etna/models, $XDG_CACHE_HOME/etna and $XDG_CONFIG_HOME/etna/config.toml, with the defaults
/// below $HOME that the XDG Base Directory Specification names. Relative values are ignored, as the
/// specification requires; without an absolute $HOME either, the path is empty.
std::filesystem::path models_folder(const Variables& variables);
std::filesystem::path cache_folder(const Variables& variables);
std::filesystem::path config_file(const Variables& variables);

/// $XDG_DATA_HOME/etna/responses.db; empty if the folder is unknown.
std::filesystem::path responses_file(const Variables& variables);

/// Expands a leading `~/`, or `~` alone, to $HOME, as a shell does, if $HOME is set.
std::string expand_home(const std::string& path, const Variables& variables);

/// $XDG_STATE_HOME/etna/history; empty if the folder is unknown.
std::filesystem::path history_file(const Variables& variables);

} // namespace etna::cli

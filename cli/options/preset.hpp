#pragma once

#include "cli/commands/run_command.hpp"
#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "core/store/manifest.hpp"

#include <span>
#include <vector>

namespace etna::cli {

// Options that a stored model sets: see store::Manifest.

/// The options of `etna run` that a stored model may set.
std::span<const Option> preset_options();

/// Adds the options of the stored model that the command line names, as far as the command has them and they
/// are absent. Errors: invalid_argument (an option that a stored model may not set).
Status add_preset(const Command& command, const Environment& environment, TypedArguments& arguments);

/// Reads the options of a stored model. `name` is for errors. Errors: invalid_argument (no such option, or a
/// value out of its bounds).
Result<RunOptions> read_preset(std::string_view name, std::span<const store::PresetOption> options);

} // namespace etna::cli

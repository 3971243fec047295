#pragma once

#include "cli/environment.hpp"
#include "cli/options/run_options.hpp"

namespace etna::cli {

/// Runs `etna run`: reads the prompt, loads the model and streams its answer. Blocking.
ExitCode run_command(const RunOptions& options, const Environment& environment);

} // namespace etna::cli

#pragma once

#include "cli/environment.hpp"
#include "cli/run_options.hpp"

namespace etna::cli {

/// `etna run`: the prompt is read, the model is loaded, its text is streamed. Blocking.
ExitCode run_command(const RunOptions& options, const Environment& environment);

} // namespace etna::cli

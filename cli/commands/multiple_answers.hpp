#pragma once

#include "cli/commands/run_command.hpp"
#include "cli/environment.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "core/generate/generation.hpp"
#include "core/generate/model.hpp"

namespace etna::cli {

/// Runs `etna run --n`: several answers to one request, each written once it and those before it are
/// complete. Blocking. Reports errors itself.
ExitCode run_multiple_answers(const RunOptions& options, const generate::Model& model,
                              generate::Request request, const Environment& environment,
                              Diagnostics& diagnostics);

} // namespace etna::cli

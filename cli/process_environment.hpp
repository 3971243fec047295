#pragma once

#include "cli/environment.hpp"

namespace etna::cli {

/// Returns the environment of this process: its streams, terminal, variables and signals, and Vulkan devices.
/// Ignores SIGPIPE from then on and opens descriptors 0 to 2 if they are closed, so that no file of etna's is
/// mistaken for a standard stream.
Environment process_environment();

} // namespace etna::cli

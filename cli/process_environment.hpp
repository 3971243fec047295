#pragma once

#include "cli/environment.hpp"

namespace etna::cli {

/// This process's own streams, terminal, variables and signals, with the Vulkan device behind it. From here
/// on SIGPIPE is ignored, and descriptors 0 to 2 are open, so that no file of ours is taken for a standard
/// stream.
Environment process_environment();

} // namespace etna::cli

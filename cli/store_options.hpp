#pragma once

#include "cli/option_values.hpp"
#include "server/server.hpp"

#include <filesystem>

namespace etna::cli {

/// What `etna serve` keeps, and how much of it. The file is empty where the usual one is meant, and memory
/// may then stand in for it. Errors: invalid_argument.
Result<server::KeepingOptions> read_store(const OptionValues& values);

} // namespace etna::cli

#pragma once

#include "cli/options/option_values.hpp"
#include "server/app/server.hpp"

#include <span>

namespace etna::cli {

/// Connection limits and encryption of `etna serve`. Defaults are those of ConnectionOptions and
/// ServiceOptions.
std::span<const Option> connection_options();

/// Reads these options into `options`; absent ones leave it unchanged. Does
/// not open the files. Errors: invalid_argument.
Status read_connection(const OptionValues& values, server::ServerOptions& options);

} // namespace etna::cli

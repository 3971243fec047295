#pragma once

#include "cli/options/option_values.hpp"
#include "server/server.hpp"

namespace etna::cli {

/// Reads the options of cli/options/table/connection.hpp into `options`; absent ones leave it unchanged. Does
/// not open the files. Errors: invalid_argument.
Status read_connection(const OptionValues& values, server::ServerOptions& options);

} // namespace etna::cli

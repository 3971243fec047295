#pragma once

#include "cli/option_values.hpp"
#include "server/server.hpp"

namespace etna::cli {

/// The options of cli/table/connection.hpp into where they belong; what is absent stays as it is. The files
/// are not looked at. Errors: invalid_argument.
Status read_connection(const OptionValues& values, server::ServerOptions& options);

} // namespace etna::cli

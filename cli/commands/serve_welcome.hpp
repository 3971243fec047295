#pragma once

#include "cli/commands/serve_command.hpp"
#include "core/runtime/devices.hpp"
#include "server/models/models.hpp"
#include "server/server.hpp"

#include <string>
#include <vector>

// Start-up messages of `etna serve`.
namespace etna::cli {

/// Returns the lines: the device, with a remark if it is a CPU; the models, with context lengths as far as
/// their files give them; where responses are stored; and a sample command for the first model.
std::vector<std::string> welcome_lines(const ServeOptions& options, const runtime::DeviceReports& devices,
                                       server::Models& models, const server::Server& server);

/// Returns the server's address for clients: "http://127.0.0.1:8080".
std::string address_of(const ServeOptions& options, int port);

} // namespace etna::cli

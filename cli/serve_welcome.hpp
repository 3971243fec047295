#pragma once

#include "cli/serve_command.hpp"
#include "core/generate/devices.hpp"
#include "server/models.hpp"
#include "server/server.hpp"

#include <string>
#include <vector>

// What `etna serve` says when it starts.
namespace etna::cli {

/// The device, and that it is a CPU where it is one; the models with their contexts, as far as their files
/// tell them; where responses are kept; and a command that asks the first model something.
std::vector<std::string> welcome_lines(const ServeOptions& options, const generate::DeviceReports& devices,
                                       server::Models& models, const server::Server& server);

/// The server's address for its clients: "http://127.0.0.1:8080".
std::string address_of(const ServeOptions& options, int port);

} // namespace etna::cli

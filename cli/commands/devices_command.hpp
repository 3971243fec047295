#pragma once

#include "cli/command_line.hpp"
#include "cli/environment.hpp"

#include <string>

namespace etna::cli {

/// The validated command line of `etna devices`.
struct DevicesOptions {
    std::string device; ///< empty: the best device
    bool as_json = false;
    bool with_kernels = false;
};

/// Errors: invalid_argument.
Result<DevicesOptions> validate_devices(const Command& command, const TypedArguments& arguments);

/// Runs `etna devices`: lists every Vulkan device and which one is chosen. Blocking.
ExitCode devices_command(const DevicesOptions& options, const Environment& environment);

} // namespace etna::cli

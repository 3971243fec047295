#pragma once

#include "cli/environment.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "core/runtime/devices.hpp"

namespace etna::cli {

enum class PlanFormat : uint8_t { text, json };

/// Prints the known models that fit the device, with their estimated speed, and the assumptions to stderr.
/// Measures the device if that was not done before. Blocking.
ExitCode list_plans(const runtime::DeviceReport& device, PlanFormat format, const Environment& environment,
                    Diagnostics& diagnostics);

} // namespace etna::cli

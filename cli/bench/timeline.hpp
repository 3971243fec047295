#pragma once

#include "core/base/json.hpp"
#include "core/vk/device.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace etna::cli {

/// Returns a step in the JSON of Chrome's trace viewer ("Trace Event Format", complete events, microseconds):
/// an event for each dispatch, inside events for the regions that it was recorded in. chrome://tracing and
/// Perfetto show them below each other.
Json chrome_trace(std::span<const vk::Timing> timings);

/// All dispatches of one kernel in a step.
struct KernelTotal {
    std::string kernel;
    uint32_t dispatches = 0;
    double microseconds = 0;

    bool operator==(const KernelTotal&) const = default;
};

/// Sums a step up by kernel; the longest total first.
std::vector<KernelTotal> kernel_totals(std::span<const vk::Timing> timings);

/// A table for people: the totals, and the time between dispatches.
std::string totals_text(std::span<const vk::Timing> timings);

} // namespace etna::cli

#pragma once

#include "cli/bench/bench_report.hpp"
#include "core/vk/device.hpp"

#include <span>
#include <string>
#include <string_view>

namespace etna::cli {

/// Draws tokens per second of prompts and of generation as SVG 1.1: over the depth with a line for each
/// batch, and over the batch with a line for each depth.
std::string chart_svg(const BenchReport& report);

/// Draws a step as SVG 1.1: time to the right, a row for each level of regions and one for the dispatches, in
/// the colours of their kernels. `title`: of the picture.
std::string timeline_svg(std::span<const vk::Timing> timings, std::string_view title);

} // namespace etna::cli

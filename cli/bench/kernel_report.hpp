#pragma once

#include "core/base/json.hpp"
#include "core/runtime/kernel_bench.hpp"

#include <string>

namespace etna::cli {

/// A table for people: the median time of each kernel, the bytes that it moves and the sums that it computes
/// per second, and the bytes as a share of the device's copy rate.
std::string kernels_text(const runtime::KernelTimings& timings);
Json kernels_json(const runtime::KernelTimings& timings);

} // namespace etna::cli

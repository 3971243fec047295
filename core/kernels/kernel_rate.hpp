#pragma once

#include "core/base/result.hpp"
#include "core/kernels/kernel_problems.hpp"
#include "core/kernels/library.hpp"

#include <vector>

namespace etna::kernels {

/// Measures an operation: microseconds of one repetition, a sample for each of several submissions that
/// repeat it for some milliseconds, with barriers between. A first submission, which compiles kernels, does
/// not count. Blocks; other work on the device makes it slower. Errors: out_of_memory, device_lost,
/// unsupported (the driver rejects the kernel).
Result<std::vector<double>> measure_kernel(Library& library, const KernelProblem& problem);

} // namespace etna::kernels

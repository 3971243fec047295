#pragma once

#include "core/base/result.hpp"
#include "core/kernels/library.hpp"

namespace etna::runtime {

/// Measures how fast a device moves large buffers in its memory: bytes per second, read and written, of its
/// copies or of a kernel that multiplies two buffers into one of them, whichever is faster (NVIDIA's copies
/// reach a quarter of an H100's memory). Medians of several runs after one that does not count. Takes at most
/// an eighth of the free memory, and gives it back. Blocks; other work on the device makes it slower. Errors:
/// out_of_memory, device_lost.
Result<double> measure_copy_rate(kernels::Library& library);

} // namespace etna::runtime

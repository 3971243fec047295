#pragma once

#include "core/base/result.hpp"
#include "core/vk/device.hpp"

namespace etna::runtime {

/// Measures how fast a device copies large buffers in its memory: bytes per second, each counted twice,
/// because it is read and written. The median of several copies after one that does not count. Takes at most
/// an eighth of the free memory, and gives it back. Blocks; other work on the device makes it slower. Errors:
/// out_of_memory, device_lost.
Result<double> measure_copy_rate(vk::Device& device);

} // namespace etna::runtime

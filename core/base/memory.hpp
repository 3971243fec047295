#pragma once

#include <cstdint>
#include <optional>

namespace etna {

/// Returns the host memory available without swapping, in bytes: MemAvailable of /proc/meminfo (proc(5)).
/// Empty if the kernel does not report it.
std::optional<uint64_t> available_host_memory_bytes();

} // namespace etna

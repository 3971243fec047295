#pragma once

#include <cstdint>
#include <optional>

namespace etna {

/// Host memory that can be taken without swapping, in bytes: MemAvailable of /proc/meminfo (proc(5)).
/// Empty where the kernel does not tell.
std::optional<uint64_t> available_host_memory_bytes();

} // namespace etna

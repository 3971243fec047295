#pragma once

#include <chrono>
#include <cstdint>
#include <string>

// Times as the API writes them.
namespace etna::server::ollama {

/// Returns a time in RFC 3339, in UTC, with microseconds.
std::string timestamp(std::chrono::system_clock::time_point time);

/// Returns a duration as an integer number of nanoseconds.
int64_t nanoseconds(double seconds);

/// The time at which a model without a limit leaves memory: as far away as Ollama's own durations reach.
std::chrono::system_clock::time_point never();

} // namespace etna::server::ollama

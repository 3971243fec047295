#pragma once

#include <chrono>
#include <cstdint>
#include <string>

// Times in the API's formats.
namespace etna::server::ollama {

/// Formats a time per RFC 3339, in UTC, with microseconds.
std::string timestamp(std::chrono::system_clock::time_point time);

/// Returns a duration in nanoseconds, as an integer.
int64_t nanoseconds(double seconds);

/// The expiry reported for a model without one: the maximum of Ollama's durations.
std::chrono::system_clock::time_point never();

} // namespace etna::server::ollama

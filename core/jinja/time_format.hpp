#pragma once

#include "core/base/result.hpp"

#include <cstdint>
#include <string>

namespace etna::jinja {

/// Formats a time (seconds since 1970, UTC) with strftime's `format`, in English. The time has no zone, as in
/// Python's datetime.now(): %z and %Z are empty.
Result<std::string> time_text(int64_t unix_s, const std::string& format);

} // namespace etna::jinja

#pragma once

#include "core/base/result.hpp"

#include <cstdint>
#include <string>

namespace etna::chat::jinja {

/// A moment (seconds since 1970, UTC) written as strftime's `format` says, in English. A time without a zone,
/// as Python's datetime.now(): %z and %Z are empty.
Result<std::string> time_text(int64_t unix_s, const std::string& format);

} // namespace etna::chat::jinja

#pragma once

#include "core/base/bytes.hpp"
#include "core/base/error.hpp"

#include <optional>
#include <string_view>

namespace etna::gguf {

/// An error that says what a file is instead of GGUF and what to do about it, where that is easy to see;
/// empty where it may be GGUF.
std::optional<Error> recognise_foreign(ByteView bytes, std::string_view file_name);

} // namespace etna::gguf

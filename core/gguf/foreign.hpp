#pragma once

#include "core/base/bytes.hpp"
#include "core/base/error.hpp"

#include <optional>
#include <string_view>

namespace etna::gguf {

/// Returns whether a file or a server's answer that begins so is an HTML page.
bool is_web_page(std::string_view opening);

/// Returns an error that names the actual format of a file that is not GGUF, with a hint, if the format is
/// easy to recognise; empty if the file may be GGUF.
std::optional<Error> recognise_foreign(ByteView bytes, std::string_view file_name);

} // namespace etna::gguf

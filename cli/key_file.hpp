#pragma once

#include "core/base/result.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace etna::cli {

/// The API keys in a file, one to a line, without the blanks around them. A comment begins with # at the
/// beginning of a line, or behind a blank: a key that clients can send has none. Errors: those of
/// read_text_file(), invalid_argument (it has no key).
Result<std::vector<std::string>> read_keys(const std::filesystem::path& file);

} // namespace etna::cli

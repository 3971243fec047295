#pragma once

#include "core/base/result.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace etna::cli {

/// Reads the API keys in a file, one per line, without surrounding blanks. A comment starts with # at the
/// start of a line or after a blank: a key that clients can send contains no blank. Errors: those of
/// read_text_file(), invalid_argument (no key).
Result<std::vector<std::string>> read_keys(const std::filesystem::path& file);

} // namespace etna::cli

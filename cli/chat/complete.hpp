#pragma once

#include "cli/environment.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

/// What the last word of a half typed line may become.
struct LineCompletion {
    std::size_t begin = 0;               ///< of that word, in bytes
    std::vector<std::string> words = {}; ///< that begin as it does
};

/// Commands for the line's first word, files for any other; what a command takes for a path is one word,
/// spaces and all. Folders end in a slash. Reads folders; what cannot be read has no files.
LineCompletion complete_chat_line(std::string_view line, const Variables& variables);

} // namespace etna::cli

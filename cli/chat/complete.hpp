#pragma once

#include "cli/environment.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

/// Completions of the last word of a partial line.
struct LineCompletion {
    std::size_t begin = 0;               ///< start of that word, in bytes
    std::vector<std::string> words = {}; ///< candidates that begin with it
};

/// Completes commands for the line's first word, files for any other; a command's path argument is one word,
/// spaces included. Folders end in a slash. Reads folders; an unreadable one counts as empty.
LineCompletion complete_chat_line(std::string_view line, const Variables& variables);

} // namespace etna::cli

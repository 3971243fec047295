#pragma once

#include "core/base/result.hpp"

#include <optional>
#include <string>

namespace etna::cli {

enum class FinalNewline {
    dropped, ///< one newline at the end is not part of the input
    kept,
};

/// What comes through standard input: everything when it is a pipe, a socket or a file; empty when it is a
/// terminal, another device (/dev/null) or closed. Blocks until the end of the input. Errors: io,
/// invalid_argument (longer than 64 MiB).
Result<std::optional<std::string>> read_input(int descriptor, FinalNewline newline);

/// The prompt: the argument, the input, or both with a blank line between. An empty input counts as none.
/// Error: invalid_argument when there is neither.
Result<std::string> assemble_prompt(const std::optional<std::string>& argument,
                                    const std::optional<std::string>& input);

} // namespace etna::cli

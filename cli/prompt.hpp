#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace etna::cli {

/// Maximum input: more than a user types or a model reads.
constexpr std::size_t input_bytes_max = 64 * mebibyte;

enum class FinalNewline {
    dropped, ///< one newline at the end is not part of the input
    kept,
};

/// Reads standard input: everything if it is a pipe, a socket or a file; empty if it is a terminal, another
/// device (/dev/null) or closed. Blocks until the end of the input. Errors: io, invalid_argument (longer than
/// 64 MiB).
Result<std::optional<std::string>> read_input(int descriptor, FinalNewline newline);

/// Reads a file's text without the newline at its end. Errors: those of read_text_file().
Result<std::string> read_prompt_file(const std::filesystem::path& path);

/// Joins the texts with a blank line in between; an empty `second` counts as absent. Empty if there is no
/// text: see no_prompt().
std::optional<std::string> assemble_prompt(const std::optional<std::string>& first,
                                           const std::optional<std::string>& second);

/// Returns "no model given"; the hint is a command that runs `demo` with this prompt.
Error no_model(std::string_view prompt);

/// Returns the error for `etna run` with this model and no prompt: invalid_argument.
Error no_prompt(std::string_view model);

} // namespace etna::cli

#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace etna::cli {

/// Nobody types more, and a model reads less.
constexpr std::size_t input_bytes_max = 64 * mebibyte;

enum class FinalNewline {
    dropped, ///< one newline at the end is not part of the input
    kept,
};

/// What comes through standard input: everything when it is a pipe, a socket or a file; empty when it is a
/// terminal, another device (/dev/null) or closed. Blocks until the end of the input. Errors: io,
/// invalid_argument (longer than 64 MiB).
Result<std::optional<std::string>> read_input(int descriptor, FinalNewline newline);

/// A file's text without the newline at its end. Errors: those of read_text_file().
Result<std::string> read_prompt_file(const std::filesystem::path& path);

/// The texts that are there and not empty, with a blank line between two; an empty one where there is only
/// that. Empty when there is none: see no_prompt().
std::optional<std::string> assemble_prompt(const std::optional<std::string>& first,
                                           const std::optional<std::string>& second);

/// "no model given", with a command that asks `demo` this prompt as the hint.
Error no_model(std::string_view prompt);

/// Error for `etna run` with this model: invalid_argument.
Error no_prompt(std::string_view model);

} // namespace etna::cli

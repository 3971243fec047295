#pragma once

#include "cli/command_line.hpp"
#include "cli/environment.hpp"

#include <optional>
#include <string>

namespace etna::cli {

enum class Direction { text_to_ids, ids_to_text };
enum class SpecialText {
    is_special, ///< "<|im_end|>" is that token, when encoding and when decoding
    is_text,    ///< encoded as plain text; as an id it decodes to nothing
};
enum class TokenForm { ids, pieces };

/// The validated command line of `etna tokenize`.
struct TokenizeOptions {
    std::string model;
    std::optional<std::string> text; ///< absent: standard input
    Direction direction = Direction::text_to_ids;
    SpecialText special = SpecialText::is_special;
    TokenForm form = TokenForm::ids;
};

/// Errors: invalid_argument.
Result<TokenizeOptions> validate_tokenize(const Command& command, const TypedArguments& arguments);

/// Runs `etna tokenize`: converts text to token ids or back, using only the file's metadata. Blocking.
ExitCode tokenize_command(const TokenizeOptions& options, const Environment& environment);

} // namespace etna::cli

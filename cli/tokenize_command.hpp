#pragma once

#include "cli/command_line.hpp"
#include "cli/environment.hpp"

#include <optional>
#include <string>

namespace etna::cli {

enum class Direction { text_to_ids, ids_to_text };
enum class SpecialText {
    is_special, ///< "<|im_end|>" is that token, in text and when it is decoded
    is_text,    ///< in text it is spelled in pieces; as an id it gives no text
};
enum class TokenForm { ids, pieces };

/// `etna tokenize`'s command line, checked.
struct TokenizeOptions {
    std::string model;
    std::optional<std::string> text; ///< absent: standard input
    Direction direction = Direction::text_to_ids;
    SpecialText special = SpecialText::is_special;
    TokenForm form = TokenForm::ids;
};

/// Errors: invalid_argument.
Result<TokenizeOptions> validate_tokenize(const Command& command, const TypedArguments& arguments);

/// `etna tokenize`: text to token ids or back, with nothing but the file's metadata. Blocking.
ExitCode tokenize_command(const TokenizeOptions& options, const Environment& environment);

} // namespace etna::cli

#pragma once

#include "cli/option_table.hpp"
#include "core/base/result.hpp"

#include <string>
#include <string_view>

namespace etna::cli {

// Everything that is written from the table of options. Hidden commands and options appear nowhere.

/// --help of `etna` and of a command: plain text, at most 80 columns where words allow. A command's is a
/// screen with its options that have briefs, where it has such options.
std::string help();
std::string help(const Command& command);

/// --help-all: every option, with bounds and defaults.
std::string whole_help(const Command& command);

/// man/etna.1 and man/etna-COMMAND.1 in the man macros of groff_man(7).
std::string man_page();
std::string man_page(const Command& command);

/// Completion scripts for commands, options, values of choices, models and files.
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

/// The script for that shell, as `etna completion` takes it. Error: invalid_argument.
Result<std::string> completion(std::string_view shell);

/// The man page of that name, as `etna generate-docs` takes it. Error: invalid_argument.
Result<std::string> document(std::string_view name);

/// Shared by the documents: "-n, --max-tokens N", and what follows the description in parentheses or
/// brackets.
std::string signature(const Option& option);
std::string details(const Option& option);
/// "MODEL [PROMPT]".
std::string synopsis(const Command& command);

} // namespace etna::cli

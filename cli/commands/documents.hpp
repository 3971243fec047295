#pragma once

#include "cli/options/option_table.hpp"
#include "core/base/result.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

// Documents generated from the option table. Hidden commands and options do not appear.

/// --help of `etna` and of a command: plain text, at most 80 columns unless a word is longer. If a command
/// has options with briefs, its help is one screen with only those.
std::string help();
std::string help(const Command& command);

/// --help-all: every option, with bounds and defaults.
std::string full_help(const Command& command);

/// man/etna.1 and man/etna-COMMAND.1 in the man macros of groff_man(7).
std::string man_page();
std::string man_page(const Command& command);

/// Returns true for a page that is written by hand around generated sections: README.md, MODELS.md,
/// etna-models.7, etna-api.7.
bool is_renewed_page(std::string_view name);

/// Returns `page` with its sections renewed: the architectures of core/model, the APIs and routes of the
/// server. The lines of comment around a section stay. Precondition: is_renewed_page(name). Errors:
/// invalid_argument (the lines are missing).
Result<std::string> renewed_page(std::string_view name, std::string_view page);

/// Shell completion scripts for commands, options, choice values, models and files.
std::string bash_completion();
std::string zsh_completion();
std::string fish_completion();

/// Shared by the documents: "-n, --max-tokens N", and the details after the description in parentheses or
/// brackets.
std::string signature(const Option& option);
std::string details(const Option& option);
/// The options that are shown, in the order of the table.
std::map<Category, std::vector<const Option*>> by_category(std::span<const Option> options);
/// "MODEL [PROMPT]".
std::string synopsis(const Command& command);
/// Escapes text for roff: it prints as written, in ASCII, so that commands can be pasted; backquotes become
/// quotes.
std::string roff(std::string_view text);

} // namespace etna::cli

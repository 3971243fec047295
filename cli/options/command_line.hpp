#pragma once

#include "cli/environment.hpp"
#include "cli/options/option_table.hpp"
#include "core/base/result.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

/// A value as typed, and its origin: "--temp", "ETNA_TEMP" or "config.toml:3: temp".
struct TypedValue {
    std::string text;
    std::string origin;
};

/// A parsed command line, not yet validated for kinds and ranges.
struct TypedArguments {
    std::map<std::string, std::vector<TypedValue>, std::less<>>
        options; ///< by long name; flags are "true", "false"
    std::vector<std::string> positionals;
    std::vector<std::string> rest = {}; ///< after `--`, if Command::rest has a name
    std::vector<std::string> notes;     ///< messages for the user about the command line
};

/// Returns another program's option with this name, dashes included; null if there is none.
const CompatOption* find_compat(const Command& command, std::string_view typed);

/// First stage: parses the arguments after the command's name by the option table, and translates options of
/// other programs to etna's. Errors: invalid_argument (unknown option, with near misses; missing value; too
/// many arguments).
Result<TypedArguments> parse(const Command& command, std::span<const std::string> arguments);

/// Adds ETNA_* variables for the options that are absent. An empty variable counts as absent; variables that
/// match no option are ignored.
void add_environment(const Command& command, const Variables& variables, TypedArguments& arguments);

/// Checks that the files that options name exist: see FileUse. Error: invalid_argument.
Status check_input_files(const Command& command, const TypedArguments& arguments);

} // namespace etna::cli

#pragma once

#include "cli/option_table.hpp"
#include "core/base/result.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

/// A command line in our own words alone.
struct Translated {
    std::vector<std::string> arguments;
    /// What options of other programs give for our arguments, by name.
    std::map<std::string, std::vector<std::string>, std::less<>> positionals;
    std::vector<std::string> notes; ///< of options that change nothing here
};

/// Replaces short names by long ones and options of other programs that the command's table knows by ours,
/// wherever an option may stand, and checks that every option that takes a value has one. Unknown options
/// stay as they are. Errors: invalid_argument (an option of another program that does not apply here, or a
/// missing value).
Result<Translated> translate(const Command& command, std::span<const std::string> arguments);

/// "try `etna COMMAND --help`".
std::string help_hint(const Command& command);

/// With near misses. `typed` may have a value behind an equals sign.
Error unknown_option(const Command& command, const std::string& typed);

} // namespace etna::cli

#pragma once

#include "cli/options/option_table.hpp"
#include "core/base/result.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

/// A command line that uses only etna's options.
struct Translated {
    std::vector<std::string> arguments;
    /// Values of positionals given by options of other programs, by name.
    std::map<std::string, std::vector<std::string>, std::less<>> positionals;
    std::vector<std::string> notes; ///< about options without effect
};

/// Replaces short names by long ones, and options of other programs in the command's table by etna's,
/// anywhere on the command line, and checks that every option that takes a value has one. Unknown options are
/// unchanged. Errors: invalid_argument (an option of another program that does not apply here, or a missing
/// value).
Result<Translated> translate(const Command& command, std::span<const std::string> arguments);

/// Returns "try `etna COMMAND --help`".
std::string help_hint(const Command& command);

/// Returns the error for an unknown option, with near misses. `typed` may include `=VALUE`.
Error unknown_option(const Command& command, const std::string& typed);

} // namespace etna::cli

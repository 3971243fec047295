#pragma once

#include "core/base/result.hpp"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::cli {

// The types of the option tables, which are the single description of the command line: parsing, --help, the
// man pages, shell completion, the ETNA_* variables and the configuration file all derive from them. Each
// table is in the file that reads its values.

enum class Kind : uint8_t {
    flag,    ///< takes no value
    integer, ///< decimal digits
    number,  ///< decimal number
    size,    ///< bytes: digits and an optional K, M, G or T (powers of 1024)
    text,    ///< anything
    choice,  ///< one of Option::choices
};
enum class Repeat : uint8_t {
    last_counts, ///< if given twice, the last one counts
    collect,     ///< every one counts
};
enum class Visibility : uint8_t { shown, hidden };
enum class Settable : uint8_t {
    anywhere,
    command_line, ///< consent to an act: no variable, stored model or configuration file gives it
};
enum class Category : uint8_t { generation, sampling, models, device, server, output, help };
enum class FileUse : uint8_t {
    none,
    input,         ///< the value names a file that must exist
    name_or_input, ///< as `input` if the value has a slash
};
enum class LowerBound : uint8_t { inclusive, exclusive };

/// Heading of a category in help and man pages.
std::string_view title(Category category);

/// Bounds of integers, numbers and sizes; the upper one is inclusive.
struct Range {
    double min = 0;
    double max = std::numeric_limits<double>::max();
    LowerBound lower = LowerBound::inclusive;
};

/// All integers of 64 bits; see OptionValues::long_integer().
inline constexpr Range int64_range = {-0x1p63, 0x1p63};

inline constexpr double int32_max = std::numeric_limits<int32_t>::max();
inline constexpr double uint32_max = std::numeric_limits<uint32_t>::max();
inline constexpr double day_s = 86'400;

struct Option {
    std::string_view name;       ///< long name, without dashes
    char short_name = 0;         ///< 0: none
    std::string_view value = {}; ///< placeholder of the value in help; empty for flags
    Kind kind = Kind::flag;
    Range range = {};
    std::span<const std::string_view> choices = {};
    std::string_view default_text = {}; ///< user-facing description of the default; empty: not shown
    std::string_view absence = {};      ///< a value equivalent to omitting the option; empty: none
    std::string_view description;       ///< a clause without a period
    std::string_view brief = {};        ///< its line in the short help; empty: listed only in --help-all
    Category category = Category::generation; ///< the default is replaced by in_category()
    Repeat repeat = Repeat::last_counts;
    Visibility visibility = Visibility::shown;
    Settable settable = Settable::anywhere;
    std::string_view second_environment_name = {}; ///< another program's, read too; empty: none
    FileUse file = FileUse::none;
};

/// Returns the options, with `category` for each that names none.
template <std::size_t size>
constexpr std::array<Option, size> in_category(Category category, std::array<Option, size> options) {
    for (Option& option : options) {
        if (option.category == Category::generation)
            option.category = category;
    }
    return options;
}

enum class Presence : uint8_t { required, optional };
enum class Completion : uint8_t {
    none,
    models, ///< names of installed models, .gguf files and folders
    files,
    folders,
};

/// A positional argument.
struct Positional {
    std::string_view name; ///< in capitals
    std::string_view description;
    std::string_view brief = {}; ///< its line in the short help; empty: the description
    Presence presence = Presence::required;
    Completion completion = Completion::none;
    std::span<const std::string_view> choices = {}; ///< allowed values; empty: anything
    Repeat repeat = Repeat::last_counts; ///< collect: any number of values; only for the last positional
};

enum class CompatValue : uint8_t {
    none,
    one,
    optional_switch, ///< the next argument, if it is on, off, auto, 1 or 0
};
enum class CompatMeaning : uint8_t {
    ours,      ///< another name of an etna option or argument
    no_effect, ///< already the behaviour, or without a visible difference: a note explains why
    missing,   ///< an error whose hint names the alternative
};

/// An option of llama.cpp's or Ollama's programs that etna recognizes.
struct CompatOption {
    std::string_view names; ///< as typed: "-ngl, --gpu-layers"
    CompatValue value = CompatValue::one;
    CompatMeaning meaning = CompatMeaning::ours;
    std::string_view ours = {};  ///< for `ours`: the long name of the option, or the name of the argument
    std::string_view fixed = {}; ///< for `ours`, if it takes no value but etna's option does: that value
    std::string_view hint = {};  ///< for the other two: the behaviour of etna, as a clause
};

struct Example {
    std::string_view command;
    std::string_view description;
};

struct Environment;
struct TypedArguments;
enum class ExitCode : int;

/// Arguments after `--` that a command passes on unread.
struct PassedArguments {
    std::string_view name = {}; ///< in capitals; empty: the command passes none
    std::string_view description = {};
};

struct ExitCodeText {
    int code;
    std::string_view description;
};

struct Command {
    std::string_view name;
    std::string_view summary; ///< a clause, for lists
    std::string_view
        description; ///< sentences, for help and the man page; paragraphs are separated by a blank line
    std::span<const Positional> positionals;
    std::span<const Option> options;
    std::span<const Example> examples;
    std::span<const CompatOption> compat = {}; ///< none of the names may be in `options`
    PassedArguments rest = {};
    std::span<const ExitCodeText> exit_codes = {}; ///< in addition to those of all commands
    Visibility visibility = Visibility::shown;
    /// Validates the arguments and runs the command. Blocking. Returns usage errors; reports others itself.
    Result<ExitCode> (*run)(const Command& command, const TypedArguments& arguments,
                            const Environment& environment) = nullptr;
};

/// All commands, in help order; defined in application.cpp.
std::span<const Command> commands();

/// Concatenates lists of options.
std::vector<Option> joined(std::initializer_list<std::span<const Option>> lists);

// Entries that several commands share.

inline constexpr Option help_option = {.name = "help",
                                       .short_name = 'h',
                                       .description = "print this help and exit",
                                       .brief = "print this help and exit",
                                       .category = Category::help};

inline constexpr Option help_all_option = {.name = "help-all",
                                           .description = "print every option, its bounds and its default",
                                           .brief = "print every option, its bounds and its default",
                                           .category = Category::help};

inline constexpr Positional model_positional = {
    .name = "MODEL",
    .description =
        "`demo` (a tiny built-in model that shows that everything works; it is not an assistant), a path to "
        "a .gguf file, the NAME of $XDG_DATA_HOME/etna/models/NAME.gguf, or a name as for `etna pull`; a "
        "file "
        "named demo needs a path",
    .brief = "demo (built in), a .gguf file, a stored model, or hf.co/USER/REPO",
    .completion = Completion::models};

/// Options of `etna` itself, before any command.
std::span<const Option> global_options();

/// Return null if there is no such command or option.
const Command* find_command(std::string_view name);
const Option* find_option(const Command& command, std::string_view name);

/// The exit codes of all commands.
std::span<const ExitCodeText> exit_codes();

/// Those that any command can return, in ascending order: exit_codes() and the additional ones of each.
std::vector<ExitCodeText> all_exit_codes();

/// Those of a command, in ascending order.
std::vector<ExitCodeText> exit_codes_of(const Command& command);

/// The option's environment variable: ETNA_MAX_TOKENS for max-tokens. Help options, and those that only the
/// command line sets, have none.
std::string environment_name(const Option& option);
bool has_environment_name(const Option& option);

/// Whether the command has options other than those of help, so that the configuration file is read for it.
bool has_settings(const Command& command);

/// "0 to 1", "more than 0, up to 1", "64K to 1024T"; empty for kinds without bounds.
std::string describe(const Range& range, Kind kind);

} // namespace etna::cli

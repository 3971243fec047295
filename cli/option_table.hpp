#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

namespace etna::cli {

// The one description of the command line. Parsing, --help, the man pages, shell completion, the ETNA_*
// variables and the configuration file all come from it.

enum class Kind : uint8_t {
    flag,    ///< takes no value
    integer, ///< decimal digits
    number,  ///< decimal number
    size,    ///< bytes: digits and an optional K, M, G or T (powers of 1024)
    text,    ///< anything
    choice,  ///< one of Option::choices
};
enum class Repeat : uint8_t {
    last_counts, ///< given twice, the last one counts
    collect,     ///< every one counts
};
enum class Visibility : uint8_t { shown, hidden };
enum class Category : uint8_t { generation, sampling, device, server, output, help };
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

struct Option {
    std::string_view name;       ///< long name, without dashes
    char short_name = 0;         ///< 0: none
    std::string_view value = {}; ///< what stands for the value in help; empty for flags
    Kind kind = Kind::flag;
    Range range = {};
    std::span<const std::string_view> choices = {};
    std::string_view default_text = {}; ///< what holds when it is absent, for people; empty: nothing to say
    std::string_view absence = {};      ///< a value that says the same as no option at all; empty: none
    std::string_view description;       ///< a clause without a period
    std::string_view brief = {}; ///< its line in the short help; empty: only the whole help has the option
    Category category = Category::generation;
    Repeat repeat = Repeat::last_counts;
    Visibility visibility = Visibility::shown;
    std::string_view second_environment_name = {}; ///< of another program's, which is read too; empty: none
};

enum class Presence : uint8_t { required, optional };
enum class Completion : uint8_t {
    none,
    models, ///< names of stored ones, .gguf files and folders
    files,
    folders,
};

/// An argument that is recognised by its place.
struct Positional {
    std::string_view name; ///< in capitals
    std::string_view description;
    std::string_view brief = {}; ///< its line in the short help; empty: the description
    Presence presence = Presence::required;
    Completion completion = Completion::none;
    std::span<const std::string_view> choices = {}; ///< what may stand here; empty: anything
    Repeat repeat = Repeat::last_counts;            ///< collect: any number of them, and it is the last one
};

enum class ForeignValue : uint8_t {
    none,
    one,
    perhaps_switch, ///< the next argument, where that is on, off, auto, 1 or 0
};
enum class ForeignMeaning : uint8_t {
    ours,      ///< an option or an argument of ours by another name
    no_effect, ///< what it asks for is so already, or nobody could tell the difference: a note says why
    missing,   ///< an error, whose hint says what there is instead
};

/// Options of llama.cpp's and Ollama's programs, which their users type here too.
struct ForeignOption {
    std::string_view names; ///< as they are typed: "-ngl, --gpu-layers"
    ForeignValue value = ForeignValue::one;
    ForeignMeaning meaning = ForeignMeaning::ours;
    std::string_view ours = {};  ///< of `ours`: the option's long name, or the argument's
    std::string_view fixed = {}; ///< of `ours`, where it takes no value and our option does: that value
    std::string_view hint = {};  ///< of the other two: what holds here, as a clause
};

struct Example {
    std::string_view command;
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
    std::span<const ForeignOption> foreign = {}; ///< no name of which is one of `options`
    Visibility visibility = Visibility::shown;
};

/// All commands, in the order in which help lists them.
std::span<const Command> commands();

/// Options of `etna` itself, before any command.
std::span<const Option> global_options();

/// Null when there is no such command or option.
const Command* find_command(std::string_view name);
const Option* find_option(const Command& command, std::string_view name);

struct ExitCodeText {
    int code;
    std::string_view description;
};
std::span<const ExitCodeText> exit_codes();

/// The option's twin in the environment: ETNA_MAX_TOKENS of max-tokens. Help options have none.
std::string environment_name(const Option& option);
bool has_environment_name(const Option& option);

/// Whether any of the command's options may come from the environment and the configuration file.
bool has_settings(const Command& command);

/// "0 to 1", "more than 0, up to 1", "64K to 1024T"; empty for kinds without bounds.
std::string describe(const Range& range, Kind kind);

} // namespace etna::cli

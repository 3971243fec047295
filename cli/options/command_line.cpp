#include "cli/options/command_line.hpp"

#include "cli/options/option_table.hpp"
#include "cli/terminal/printable.hpp"
#include "core/base/near_names.hpp"
#include "core/base/result.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

/// A command line that uses only etna's options.
struct Translated {
    std::vector<std::string> arguments;
    /// Values of positionals given by options of other programs, by name.
    std::map<std::string, std::vector<std::string>, std::less<>> positionals;
    std::vector<std::string> notes; ///< about options without effect
};

std::vector<std::string_view> names_of(const CompatOption& option) {
    std::vector<std::string_view> all;
    std::string_view names = option.names;
    while (!names.empty()) {
        const std::size_t end = names.find(", ");
        all.push_back(names.substr(0, end));
        names.remove_prefix(end == std::string_view::npos ? names.size() : end + 2);
    }
    return all;
}

bool is_named(const CompatOption& option, std::string_view typed) {
    const auto names = names_of(option);
    return std::find(names.begin(), names.end(), typed) != names.end();
}

bool is_switch(std::string_view text) {
    constexpr std::array<std::string_view, 5> positions = {"on", "off", "auto", "1", "0"};
    return std::find(positions.begin(), positions.end(), text) != positions.end();
}

bool may_be_number(std::string_view text) {
    return (text.front() >= '0' && text.front() <= '9') ||
           std::string_view("-.=").find(text.front()) != std::string_view::npos;
}

/// Returns the option with this short name; null if there is none.
const Option* find_short(const Command& command, char letter) {
    const auto found = std::find_if(command.options.begin(), command.options.end(),
                                    [letter](const Option& option) { return option.short_name == letter; });
    return found == command.options.end() ? nullptr : &*found;
}

/// An environment variable or the configuration file may have set a flag, so omitting it is not enough.
Error cannot_be_negated(const Option& option) {
    return {ErrorKind::invalid_argument, fmt::format("--{} cannot be negated", option.name),
            option.kind == Kind::flag ? fmt::format("--{}=false turns it off", option.name)
                                      : fmt::format("remove --{}", option.name)};
}

/// Returns "try `etna COMMAND --help`".
std::string help_hint(const Command& command) {
    return fmt::format("try `etna {} --help`", command.name);
}

/// Returns the error for an unknown option, with near misses. `typed` may include `=VALUE`.
Error unknown_option(const Command& command, const std::string& typed) {
    constexpr std::string_view negation = "--no-";
    const std::string name = typed.substr(0, typed.find('='));
    if (name.starts_with(negation)) {
        const std::string_view negated = std::string_view(name).substr(negation.size());
        const Option* option = find_option(command, negated);
        if (option != nullptr && option->visibility == Visibility::shown)
            return cannot_be_negated(*option);
    }
    std::vector<std::string> known;
    for (const Option& option : command.options) {
        if (option.visibility == Visibility::shown)
            known.push_back(fmt::format("--{}", option.name));
    }
    for (const CompatOption& other : command.compat) {
        for (const std::string_view one : names_of(other)) {
            if (other.meaning == CompatMeaning::ours && one.starts_with("--"))
                known.emplace_back(one);
        }
    }
    std::string hint = help_hint(command);
    auto near = near_names(name, known);
    if (!near.empty() && edit_distance(name, near.front()) == 1) // a single edit is unambiguous
        std::erase_if(near, [&](const std::string& one) { return edit_distance(name, one) > 1; });
    if (!near.empty()) {
        hint = fmt::format("did you mean `{}`?", fmt::join(near, "` or `"));
    } else if (!command.positionals.empty()) {
        hint += "; an argument that begins with a dash goes after `--`";
    }
    return {ErrorKind::invalid_argument, fmt::format("unknown option {}", backquoted(name)), hint};
}

/// Translates a command line argument by argument.
class Translator {
public:
    Translator(const Command& command, std::span<const std::string> arguments)
        : command_(command), arguments_(arguments) {}

    Result<Translated> run() {
        while (at_ < arguments_.size() && arguments_[at_] != "--") {
            const std::string& argument = arguments_[at_++];
            const std::string name = argument.substr(0, argument.find('='));
            const CompatOption* compat = find_compat(command_, name);
            ETNA_CHECK(compat != nullptr ? take(*compat, name, argument) : copy(argument));
        }
        const auto rest = arguments_.subspan(at_);
        result_.arguments.insert(result_.arguments.end(), rest.begin(), rest.end());
        return std::move(result_);
    }

private:
    Status take(const CompatOption& compat, const std::string& name, const std::string& argument) {
        if (compat.meaning == CompatMeaning::missing) {
            return invalid_argument(fmt::format("{} is not an option of `etna {}`", name, command_.name),
                                    std::string(compat.hint));
        }
        ETNA_TRY(std::string value, value_of(compat, name, argument));
        if (compat.meaning == CompatMeaning::no_effect) {
            result_.notes.push_back(fmt::format("{} is ignored; {}", name, compat.hint));
            return {};
        }
        const Option* option = find_option(command_, compat.ours);
        if (option == nullptr) {
            result_.positionals[std::string(compat.ours)].push_back(std::move(value));
        } else if (option->kind == Kind::flag) {
            result_.arguments.push_back(fmt::format("--{}={}", option->name, value));
        } else {
            result_.arguments.push_back(fmt::format("--{}", option->name));
            result_.arguments.push_back(std::move(value));
        }
        return {};
    }

    Result<std::string> value_of(const CompatOption& compat, const std::string& name,
                                 const std::string& argument) {
        if (compat.value == CompatValue::none)
            return std::string(compat.fixed);
        if (argument.size() > name.size())
            return argument.substr(name.size() + 1);
        if (at_ < arguments_.size() && (compat.value == CompatValue::one || is_switch(arguments_[at_])))
            return arguments_[at_++];
        if (compat.value == CompatValue::optional_switch)
            return std::string();
        return needs_value(name);
    }

    /// Copies an argument that is not another program's option, with the value that follows it.
    Status copy(const std::string& argument) {
        if (argument.starts_with("--"))
            return copy_long(argument);
        if (argument.starts_with('-') && argument.size() > 1)
            return copy_short(argument);
        result_.arguments.push_back(argument);
        return {};
    }

    Status copy_long(const std::string& argument) {
        result_.arguments.push_back(argument);
        const std::size_t equals = argument.find('=');
        const Option* option = find_option(command_, std::string_view(argument).substr(0, equals).substr(2));
        if (option == nullptr || option->kind == Kind::flag || equals < argument.size() - 1)
            return {};
        // CLI11 would take the next argument as the value of `--seed=`.
        if (equals != std::string::npos || at_ == arguments_.size())
            return needs_value(fmt::format("--{}", option->name));
        result_.arguments.push_back(arguments_[at_++]);
        return {};
    }

    /// Rewrites "-n 5", "-n5" and "-vn5" with long names, because CLI11 2.4 and later treat `-n` and `--n` as
    /// one name.
    Status copy_short(const std::string& argument) {
        std::string_view letters = std::string_view(argument).substr(1);
        const Option* option = nullptr;
        std::vector<std::string> flags;
        for (; !letters.empty(); flags.push_back(fmt::format("--{}", option->name))) {
            option = find_short(command_, letters.front());
            if (option == nullptr || option->kind != Kind::flag)
                break;
            letters.remove_prefix(1);
        }
        if (!flags.empty() && letters.starts_with('=')) { // -v=false
            flags.back() += letters;
            letters = {};
        }
        auto& arguments = result_.arguments;
        arguments.insert(arguments.end(), flags.begin(), flags.end());
        if (letters.empty())
            return {};
        if (option == nullptr) {
            arguments.push_back(fmt::format("-{}", letters));
            return {};
        }
        letters.remove_prefix(1);
        // A multi-letter option of another program is not a short option followed by its value.
        if (!letters.empty() && option->kind != Kind::text && option->kind != Kind::choice &&
            !may_be_number(letters))
            return unknown_option(command_, argument);
        if (letters.empty() && at_ == arguments_.size())
            return needs_value(fmt::format("--{}", option->name));
        arguments.push_back(fmt::format("--{}", option->name));
        arguments.push_back(letters.empty() ? arguments_[at_++] : std::string(letters));
        return {};
    }

    [[nodiscard]] Error needs_value(const std::string& name) const {
        return {ErrorKind::invalid_argument, fmt::format("{} needs a value", name), help_hint(command_)};
    }

    const Command& command_;
    std::span<const std::string> arguments_;
    std::size_t at_ = 0; ///< the next argument
    Translated result_;
};

/// Replaces short names by long ones, and options of other programs in the command's table by etna's,
/// anywhere on the command line, and checks that every option that takes a value has one. Unknown options are
/// unchanged. Errors: invalid_argument (an option of another program that does not apply here, or a missing
/// value).
Result<Translated> translate(const Command& command, std::span<const std::string> arguments) {
    return Translator(command, arguments).run();
}

/// A positional given by another program's option is not expected among the arguments, unless it can repeat.
bool is_expected(const Positional& positional, const Translated& translated) {
    return positional.repeat == Repeat::collect || !translated.positionals.contains(positional.name);
}

void set_up(CLI::App& app, const Command& command, const Translated& translated) {
    app.set_help_flag();
    app.allow_extras();
    for (const Positional& positional : command.positionals) {
        if (!is_expected(positional, translated))
            continue;
        CLI::Option* option = app.add_option(std::string(positional.name));
        if (positional.repeat == Repeat::collect)
            option->expected(-1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
    for (const Option& option : command.options) {
        const std::string name = fmt::format("--{}", option.name); // translate() has replaced short names
        if (option.kind == Kind::flag) {
            app.add_flag(name)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
            continue;
        }
        app.add_option(name)->expected(1)->allow_extra_args(false)->multi_option_policy(
            option.repeat == Repeat::collect ? CLI::MultiOptionPolicy::TakeAll
                                             : CLI::MultiOptionPolicy::TakeLast);
    }
}

/// Returns whether the last argument is free text, which users forget to quote.
bool takes_text(const Command& command) {
    return !command.positionals.empty() && command.positionals.back().presence == Presence::optional;
}

/// Refuses options that CLI11 does not know and arguments beyond the last positional. `texts`: the arguments
/// after `--`.
Status check_extras(const CLI::App& app, const Command& command, std::span<const std::string> texts) {
    const std::vector<std::string> extras = app.remaining();
    for (const std::string& extra : extras) {
        if (extra.size() > 1 && extra.front() == '-' && extra != "--" &&
            std::ranges::find(texts, extra) != texts.end()) {
            return invalid_argument(
                fmt::format("unexpected argument {} after `--`", backquoted(extra)),
                fmt::format("options go before `--`: etna {} [OPTION]... -- TEXT", command.name));
        }
        if (extra.size() > 1 && extra.front() == '-' && extra != "--")
            return unknown_option(command, extra);
    }
    for (const std::string& extra : extras) {
        if (extra != "--") {
            return invalid_argument(fmt::format("unexpected argument {}", backquoted(extra)),
                                    takes_text(command) ? "put text of several words in quotes"
                                                        : help_hint(command));
        }
    }
    return {};
}

/// Wraps CLI11's message for the remaining error: an unexpected value.
Error malformed(const Command& command, const CLI::ParseError& error) {
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    return {ErrorKind::invalid_argument, std::move(message), help_hint(command)};
}

/// Returns the positionals in order up to the last one given; an empty text for an absent one.
std::vector<std::string> positionals_of(const CLI::App& app, const Command& command,
                                        const Translated& translated) {
    std::vector<std::string> texts;
    std::size_t given = 0;
    for (const Positional& positional : command.positionals) {
        CLI::results_t values;
        if (const auto found = translated.positionals.find(positional.name);
            found != translated.positionals.end())
            values = found->second;
        if (is_expected(positional, translated)) {
            const CLI::results_t more = app.get_option(std::string(positional.name))->results();
            values.insert(values.end(), more.begin(), more.end());
        }
        const bool is_given = !values.empty();
        if (positional.repeat == Repeat::last_counts)
            values = {is_given ? values.back() : std::string()};
        texts.insert(texts.end(), values.begin(), values.end());
        given = is_given ? texts.size() : given;
    }
    texts.resize(given);
    return texts;
}

} // namespace

const CompatOption* find_compat(const Command& command, std::string_view typed) {
    const auto found = std::find_if(command.compat.begin(), command.compat.end(),
                                    [&](const CompatOption& option) { return is_named(option, typed); });
    return found == command.compat.end() ? nullptr : &*found;
}

Result<TypedArguments> parse(const Command& command, std::span<const std::string> arguments) {
    std::vector<std::string> rest;
    if (!command.rest.name.empty()) {
        const auto end = std::ranges::find(arguments, "--");
        rest.assign(std::min(end + 1, arguments.end()), arguments.end());
        arguments = {arguments.begin(), end};
    }
    const auto separator = std::ranges::find(arguments, "--");
    const std::span<const std::string> texts(separator, arguments.end());
    ETNA_TRY(Translated translated, translate(command, arguments));
    CLI::App app;
    std::vector<std::string>& ours = translated.arguments;
    std::reverse(ours.begin(), ours.end()); // CLI11 expects reverse order
    try {
        set_up(app, command, translated);
        app.parse(ours);
    } catch (const CLI::ParseError& error) {
        return malformed(command, error);
    } catch (const CLI::Error& error) {
        return Error{ErrorKind::internal,
                     fmt::format("CLI11 {} refuses the options of `etna {}`: {}", CLI11_VERSION, command.name,
                                 error.what()),
                     "etna was built with a version of CLI11 that it does not support; please report it"};
    }
    ETNA_CHECK(check_extras(app, command, texts));

    TypedArguments typed;
    typed.notes = std::move(translated.notes);
    typed.positionals = positionals_of(app, command, translated);
    typed.rest = std::move(rest);
    for (const Option& option : command.options) {
        const std::string name = fmt::format("--{}", option.name);
        const CLI::Option* found = app.get_option(name);
        if (found->count() == 0)
            continue;
        const CLI::results_t values = found->results();
        auto& kept = typed.options[std::string(option.name)];
        for (const std::string& value : values)
            kept.push_back({value, name});
        if (option.repeat == Repeat::last_counts)
            kept.erase(kept.begin(), kept.end() - 1);
    }
    return typed;
}

Status check_input_files(const Command& command, const TypedArguments& arguments) {
    for (const Option& option : command.options) {
        const auto given = arguments.options.find(option.name);
        if (option.file == FileUse::none || given == arguments.options.end())
            continue;
        for (const TypedValue& value : given->second) {
            const bool is_file = option.file == FileUse::input || value.text.find('/') != std::string::npos;
            std::error_code failure;
            if (is_file && !value.text.empty() && !std::filesystem::exists(value.text, failure)) {
                return invalid_argument(
                    fmt::format("{}: there is no file {}", value.origin, backquoted(value.text)),
                    "check the path; relative ones begin in the current folder");
            }
        }
    }
    return {};
}

void add_environment(const Command& command, const Variables& variables, TypedArguments& arguments) {
    for (const Option& option : command.options) {
        if (!has_environment_name(option) || arguments.options.contains(option.name))
            continue;
        for (const std::string& name :
             {environment_name(option), std::string(option.second_environment_name)}) {
            const auto found = variables.find(name);
            if (found == variables.end() || found->second.empty())
                continue;
            arguments.options[std::string(option.name)] = {{found->second, name}};
            break;
        }
    }
}

} // namespace etna::cli

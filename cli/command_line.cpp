#include "cli/command_line.hpp"

#include "cli/options/translate.hpp"
#include "cli/terminal/quote.hpp"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace etna::cli {
namespace {

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

/// Refuses options that CLI11 does not know and arguments beyond the last positional.
Status check_extras(const CLI::App& app, const Command& command) {
    const std::vector<std::string> extras = app.remaining();
    for (const std::string& extra : extras) {
        if (extra.size() > 1 && extra.front() == '-' && extra != "--")
            return unknown_option(command, extra);
    }
    for (const std::string& extra : extras) {
        if (extra != "--") {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("unexpected argument {}", backquoted(extra)),
                         takes_text(command) ? "put text of several words in quotes" : help_hint(command)};
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

Result<TypedArguments> parse(const Command& command, std::span<const std::string> arguments) {
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
    ETNA_CHECK(check_extras(app, command));

    TypedArguments typed;
    typed.notes = std::move(translated.notes);
    typed.positionals = positionals_of(app, command, translated);
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

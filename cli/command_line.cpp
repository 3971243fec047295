#include "cli/command_line.hpp"

#include "cli/quote.hpp"
#include "core/store/similar.hpp"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

std::string help_hint(const Command& command) {
    return fmt::format("try `etna {} --help`", command.name);
}

Error unknown_option(const Command& command, const std::string& typed) {
    const std::string name = typed.substr(0, typed.find('='));
    std::vector<std::string> known;
    for (const Option& option : command.options) {
        if (option.visibility == Visibility::shown)
            known.push_back(fmt::format("--{}", option.name));
    }
    std::string hint = help_hint(command);
    auto near = store::similar(name, known);
    if (!near.empty() && store::edit_distance(name, near.front()) == 1) // one slip leaves no doubt
        std::erase_if(near, [&](const std::string& one) { return store::edit_distance(name, one) > 1; });
    if (!near.empty()) {
        hint = fmt::format("did you mean `{}`?", fmt::join(near, "` or `"));
    } else if (!command.positionals.empty()) {
        hint += "; an argument that begins with a dash goes after `--`";
    }
    return {ErrorKind::invalid_argument, fmt::format("unknown option {}", backquoted(name)), hint};
}

void set_up(CLI::App& app, const Command& command) {
    app.set_help_flag();
    app.allow_extras();
    for (const Positional& positional : command.positionals) {
        CLI::Option* option = app.add_option(std::string(positional.name));
        if (positional.repeat == Repeat::collect)
            option->expected(-1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
    for (const Option& option : command.options) {
        std::string names = fmt::format("--{}", option.name);
        if (option.short_name != 0)
            names = fmt::format("-{},{}", option.short_name, names);
        if (option.kind == Kind::flag) {
            app.add_flag(names)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
            continue;
        }
        app.add_option(names)->expected(1)->allow_extra_args(false)->multi_option_policy(
            option.repeat == Repeat::collect ? CLI::MultiOptionPolicy::TakeAll
                                             : CLI::MultiOptionPolicy::TakeLast);
    }
}

/// Whether the last argument is free text, which people forget to quote.
bool takes_text(const Command& command) {
    return !command.positionals.empty() && command.positionals.back().presence == Presence::optional;
}

/// Options that CLI11 did not know, and arguments beyond the last positional.
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

/// The option at the end of "-vn", where flags stand together, that takes the next argument as its value.
const Option* awaits_value(const Command& command, std::string_view letters) {
    for (std::size_t i = 0; i < letters.size(); ++i) {
        const auto option = std::find_if(command.options.begin(), command.options.end(),
                                         [&](const Option& one) { return one.short_name == letters[i]; });
        if (option == command.options.end())
            return nullptr;
        if (option->kind != Kind::flag)
            return i + 1 == letters.size() ? &*option : nullptr;
    }
    return nullptr;
}

/// Every option that takes a value has one. CLI11 would take the next argument for that of `--seed=`.
Status check_values(const Command& command, std::span<const std::string> arguments) {
    for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
        const std::string_view argument = arguments[i];
        const std::size_t equals = argument.find('=');
        const Option* option = nullptr;
        if (argument.starts_with("--")) {
            option = find_option(command, argument.substr(0, equals).substr(2));
            if (option != nullptr && (option->kind == Kind::flag || equals < argument.size() - 1))
                option = nullptr;
        } else if (argument.starts_with('-')) {
            option = awaits_value(command, argument.substr(1));
        }
        if (option == nullptr)
            continue;
        if (equals != std::string_view::npos || ++i == arguments.size()) {
            return Error{ErrorKind::invalid_argument, fmt::format("--{} needs a value", option->name),
                         help_hint(command)};
        }
    }
    return {};
}

/// CLI11's message for what is left: an unwanted value.
Error malformed(const Command& command, const CLI::ParseError& error) {
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    return {ErrorKind::invalid_argument, std::move(message), help_hint(command)};
}

} // namespace

Result<TypedArguments> parse(const Command& command, std::span<const std::string> arguments) {
    ETNA_CHECK(check_values(command, arguments));
    CLI::App app;
    set_up(app, command);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend()); // the order that CLI11 asks for
    try {
        app.parse(reversed);
    } catch (const CLI::ParseError& error) {
        return malformed(command, error);
    }
    ETNA_CHECK(check_extras(app, command));

    TypedArguments typed;
    for (const Positional& positional : command.positionals) {
        const CLI::Option* found = app.get_option(std::string(positional.name));
        if (found->count() == 0)
            continue;
        const CLI::results_t values = found->results();
        if (positional.repeat == Repeat::collect) {
            typed.positionals.insert(typed.positionals.end(), values.begin(), values.end());
        } else {
            typed.positionals.push_back(values.back());
        }
    }
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

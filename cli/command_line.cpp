#include "cli/command_line.hpp"

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
    if (const auto near = store::similar(name, known); !near.empty()) {
        hint = fmt::format("did you mean `{}`?", fmt::join(near, "` or `"));
    } else if (!command.positionals.empty()) {
        hint += "; an argument that begins with a dash goes after `--`";
    }
    return {ErrorKind::invalid_argument, fmt::format("unknown option `{}`", name), hint};
}

void set_up(CLI::App& app, const Command& command) {
    app.set_help_flag();
    app.allow_extras();
    for (const Positional& positional : command.positionals)
        app.add_option(std::string(positional.name));
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

/// Options that CLI11 did not know, and arguments beyond the last positional.
Status check_extras(const CLI::App& app, const Command& command) {
    const std::vector<std::string> extras = app.remaining();
    for (const std::string& extra : extras) {
        if (extra.size() > 1 && extra.front() == '-' && extra != "--")
            return unknown_option(command, extra);
    }
    for (const std::string& extra : extras) {
        if (extra != "--") {
            return Error{ErrorKind::invalid_argument, fmt::format("unexpected argument `{}`", extra),
                         "put a prompt of several words in quotes"};
        }
    }
    return {};
}

/// CLI11's message for what is left: a missing or an unwanted value.
Error malformed(const Command& command, const CLI::ParseError& error) {
    std::string message = error.what();
    std::replace(message.begin(), message.end(), '\n', ' ');
    return {ErrorKind::invalid_argument, std::move(message), help_hint(command)};
}

/// Keys at the top of the configuration file are for every command that has the option.
bool is_anothers(const std::string& name) {
    return std::any_of(commands().begin(), commands().end(), [&](const Command& command) {
        const Option* option = find_option(command, name);
        return option != nullptr && has_environment_name(*option);
    });
}

} // namespace

Result<TypedArguments> parse(const Command& command, std::span<const std::string> arguments) {
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
        if (const CLI::Option* found = app.get_option(std::string(positional.name)); found->count() != 0)
            typed.positionals.push_back(found->results().back());
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
        const std::string name = environment_name(option);
        if (const auto found = variables.find(name); found != variables.end() && !found->second.empty())
            arguments.options[std::string(option.name)] = {{found->second, name}};
    }
}

Status add_config_file(const Command& command, const std::filesystem::path& path, TypedArguments& arguments) {
    std::error_code failure;
    const auto status = std::filesystem::status(path, failure);
    if (status.type() == std::filesystem::file_type::not_found)
        return {};
    std::ifstream file(path);
    if (!file || status.type() == std::filesystem::file_type::directory)
        return Error{ErrorKind::io, fmt::format("cannot read the configuration file {}", path.string())};
    std::vector<CLI::ConfigItem> items;
    try {
        items = CLI::ConfigTOML().from_config(file);
    } catch (const std::exception& error) {
        return Error{ErrorKind::invalid_argument, fmt::format("{}: {}", path.string(), error.what())};
    }
    TypedArguments found;
    for (const CLI::ConfigItem& item : items) {
        if (item.name == "++" || item.name == "--") // CLI11's marks for the borders of sections
            continue;
        if (!item.parents.empty() && item.parents.front() != command.name)
            continue; // another command's section
        const Option* option = find_option(command, item.name);
        if (option == nullptr && item.parents.empty() && is_anothers(item.name))
            continue;
        if (option == nullptr || item.parents.size() > 1 || !has_environment_name(*option)) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("{}: unknown key `{}`", path.string(), item.name),
                         fmt::format("keys are the long options of `etna {}` without dashes", command.name)};
        }
        auto& values = found.options[item.name];
        for (const std::string& value : item.inputs)
            values.push_back({value, fmt::format("{}: {}", path.filename().string(), item.name)});
    }
    for (auto& [name, values] : found.options) // those that are already there stay
        arguments.options.emplace(name, std::move(values));
    return {};
}

} // namespace etna::cli

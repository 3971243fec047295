#include "cli/commands/commands.hpp"
#include "cli/commands/documents.hpp"
#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/config_file.hpp"
#include "cli/options/preset.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/printable.hpp"
#include "core/base/near_names.hpp"

#include <array>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

ExitCode report_usage_error(const Environment& environment, const Error& error) {
    Diagnostics(environment).error(error);
    return ExitCode::usage;
}

ExitCode print(const Environment& environment, const std::string& text) {
    Output output(environment.output);
    if (output.write(text) != OutputState::failed)
        return ExitCode::done;
    Diagnostics(environment).error(output.error());
    return ExitCode::failed;
}

/// Returns the alternative to a command of other programs.
std::string_view alternative_to(std::string_view command) {
    if (command == "ls")
        return "try `etna list`";
    if (command == "version")
        return "try `etna --version`";
    return "";
}

Error unknown_command(const std::string& typed) {
    std::vector<std::string> known;
    for (const Command& command : commands()) {
        if (command.visibility == Visibility::shown)
            known.emplace_back(command.name);
    }
    std::string hint = "try `etna --help`";
    if (const auto near = near_names(typed, known); !near.empty())
        hint = fmt::format("did you mean `etna {}`?", fmt::join(near, "` or `etna "));
    if (const std::string_view known_hint = alternative_to(typed); !known_hint.empty())
        hint = known_hint;
    std::string message = typed.starts_with('-')
                              ? fmt::format("unknown option {} before a command", backquoted(typed))
                              : fmt::format("unknown command {}", backquoted(typed));
    return {ErrorKind::invalid_argument, std::move(message), std::move(hint)};
}

bool is_option(const std::string& argument, std::string_view name) {
    for (const Option& option : global_options()) {
        if (option.name == name &&
            (argument == fmt::format("--{}", name) ||
             (option.short_name != 0 && argument == fmt::format("-{}", option.short_name))))
            return true;
    }
    return false;
}

bool is_help_requested(const TypedArguments& typed) {
    return typed.options.contains("help") || typed.options.contains("help-all");
}

/// Merges command line, environment, the options of a stored model and configuration file, in order of
/// precedence.
Result<TypedArguments> all_arguments(const Command& command, std::span<const std::string> arguments,
                                     const Environment& environment) {
    ETNA_TRY(TypedArguments typed, parse(command, arguments));
    if (is_help_requested(typed) || !has_settings(command))
        return typed;
    add_environment(command, environment.variables, typed);
    ETNA_CHECK(add_preset(command, environment, typed));
    ETNA_CHECK(add_config_file(command, config_file(environment.variables), typed));
    ETNA_CHECK(check_input_files(command, typed));
    return typed;
}

/// Adds a hint to the command's help if the usage error has none.
ExitCode report_command_usage_error(const Command& command, const Environment& environment, Error error) {
    if (error.hint.empty())
        error.hint = fmt::format("try `etna {} --help`", command.name);
    return report_usage_error(environment, error);
}

ExitCode dispatch(const Command& command, std::span<const std::string> arguments,
                  const Environment& environment) {
    const auto typed = all_arguments(command, arguments, environment);
    if (!typed)
        return report_command_usage_error(command, environment, typed.error());
    if (is_help_requested(*typed)) {
        return print(environment, typed->options.contains("help-all") ? full_help(command) : help(command));
    }
    for (const std::string& note : typed->notes)
        Diagnostics(environment).note(note);
    const auto code = command.run(command, *typed, environment);
    return code ? *code : report_command_usage_error(command, environment, code.error());
}

} // namespace

std::span<const Command> commands() {
    static const std::array all = {
        run_spec(),     chat_spec(),       embed_spec(),    batch_spec(),  serve_spec(),        ps_spec(),
        stop_spec(),    launch_spec(),     pull_spec(),     list_spec(),   show_spec(),         plan_spec(),
        rm_spec(),      cp_spec(),         create_spec(),   verify_spec(), bench_spec(),        tune_spec(),
        devices_spec(), completion_spec(), tokenize_spec(), render_spec(), generate_docs_spec()};
    return all;
}

ExitCode run(std::span<const std::string> arguments, const Environment& environment) {
    if (arguments.empty()) {
        return report_usage_error(environment,
                                  {ErrorKind::invalid_argument, "no command given",
                                   "try `etna run demo \"What is 34 + 58?\"`, or `etna --help`"});
    }
    const std::string& first = arguments[0];
    if (is_option(first, "help") || first == "help") {
        if (arguments.size() == 1)
            return print(environment, help());
        const Command* command = find_command(arguments[1]);
        return command == nullptr ? report_usage_error(environment, unknown_command(arguments[1]))
                                  : print(environment, help(*command));
    }
    if (is_option(first, "version"))
        return print(environment, "etna " ETNA_VERSION "\n");
    const Command* command = find_command(first);
    if (command == nullptr)
        return report_usage_error(environment, unknown_command(first));
    return dispatch(*command, arguments.subspan(1), environment);
}

} // namespace etna::cli

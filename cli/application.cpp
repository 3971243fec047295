#include "cli/commands/chat_command.hpp"
#include "cli/commands/devices_command.hpp"
#include "cli/commands/render_command.hpp"
#include "cli/commands/run_command.hpp"
#include "cli/commands/serve_command.hpp"
#include "cli/commands/tokenize_command.hpp"
#include "cli/environment.hpp"
#include "cli/folders.hpp"
#include "cli/options/config_file.hpp"
#include "cli/options/option_values.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/quote.hpp"
#include "cli/tools/documents.hpp"
#include "core/store/near_names.hpp"

#include <csignal>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

ExitCode refuse(const Environment& environment, const Error& error) {
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

/// Returns the alternative to a command of Ollama's.
std::string_view instead_of(std::string_view command) {
    if (command == "pull" || command == "create" || command == "cp") {
        return "etna fetches no models yet: put a .gguf file into $XDG_DATA_HOME/etna/models "
               "(~/.local/share/etna/models) and name it without .gguf, or give its path";
    }
    if (command == "list" || command == "ls" || command == "rm")
        return "stored models are the files of $XDG_DATA_HOME/etna/models (~/.local/share/etna/models)";
    if (command == "ps" || command == "stop")
        return "a model is in memory as long as the `etna run`, `etna chat` or `etna serve` that uses it";
    return command == "show" ? "`etna chat MODEL` has /show" : "";
}

Error unknown_command(const std::string& typed) {
    std::vector<std::string> known;
    for (const Command& command : commands()) {
        if (command.visibility == Visibility::shown)
            known.emplace_back(command.name);
    }
    std::string hint = "try `etna --help`";
    if (const auto near = store::near_names(typed, known); !near.empty())
        hint = fmt::format("did you mean `etna {}`?", fmt::join(near, "` or `etna "));
    if (const std::string_view known_hint = instead_of(typed); !known_hint.empty())
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

ExitCode print_made(const Result<std::string>& text, const Environment& environment) {
    return text ? print(environment, *text) : refuse(environment, text.error());
}

bool wants_help(const TypedArguments& typed) {
    return typed.options.contains("help") || typed.options.contains("help-all");
}

/// Merges command line, environment and configuration file, in order of precedence.
Result<TypedArguments> all_arguments(const Command& command, std::span<const std::string> arguments,
                                     const Environment& environment) {
    ETNA_TRY(TypedArguments typed, parse(command, arguments));
    if (wants_help(typed) || !has_settings(command))
        return typed;
    add_environment(command, environment.variables, typed);
    ETNA_CHECK(add_config_file(command, config_file(environment.variables), typed));
    return typed;
}

/// Adds a hint to the command's help if the usage error has none.
ExitCode refuse_usage(const Command& command, const Environment& environment, Error error) {
    if (error.hint.empty())
        error.hint = fmt::format("try `etna {} --help`", command.name);
    return refuse(environment, error);
}

ExitCode run_named(const Command& command, std::span<const std::string> arguments,
                   const Environment& environment) {
    const auto typed = all_arguments(command, arguments, environment);
    if (!typed)
        return refuse_usage(command, environment, typed.error());
    if (wants_help(*typed)) {
        return print(environment, typed->options.contains("help-all") ? whole_help(command) : help(command));
    }
    for (const std::string& note : typed->notes)
        Diagnostics(environment).note(note);
    const std::string first = typed->positionals.empty() ? std::string() : typed->positionals[0];
    if (command.name == "generate-docs")
        return print_made(document(first), environment);
    if (command.name == "completion")
        return print_made(completion(first), environment);
    if (command.name == "devices") {
        const auto options = validate_devices(command, *typed);
        return options ? devices_command(*options, environment)
                       : refuse_usage(command, environment, options.error());
    }
    if (command.name == "tokenize") {
        const auto options = validate_tokenize(command, *typed);
        return options ? tokenize_command(*options, environment)
                       : refuse_usage(command, environment, options.error());
    }
    if (command.name == "chat") {
        auto options = validate_chat(command, *typed);
        return options ? chat_command(std::move(*options), environment)
                       : refuse_usage(command, environment, options.error());
    }
    if (command.name == "serve") {
        const auto options = validate_serve(command, *typed);
        return options ? serve_command(*options, environment)
                       : refuse_usage(command, environment, options.error());
    }
    if (command.name == "render") {
        const auto options = validate_render(command, *typed);
        return options ? render_command(*options, environment)
                       : refuse_usage(command, environment, options.error());
    }
    const auto options = validate_run(command, *typed);
    return options ? run_command(*options, environment) : refuse_usage(command, environment, options.error());
}

} // namespace

ExitCode ended_by(int signal) {
    if (signal == 0)
        return ExitCode::interrupted;
    return signal == SIGHUP ? ExitCode::hung_up : ExitCode::terminated;
}

ExitCode run(std::span<const std::string> arguments, const Environment& environment) {
    if (arguments.empty()) {
        return refuse(environment, {ErrorKind::invalid_argument, "no command is given",
                                    "try `etna run demo \"What is 34 + 58?\"`, or `etna --help`"});
    }
    const std::string& first = arguments[0];
    if (is_option(first, "help") || first == "help") {
        if (arguments.size() == 1)
            return print(environment, help());
        const Command* command = find_command(arguments[1]);
        return command == nullptr ? refuse(environment, unknown_command(arguments[1]))
                                  : print(environment, help(*command));
    }
    if (is_option(first, "version"))
        return print(environment, "etna " ETNA_VERSION "\n");
    const Command* command = find_command(first);
    if (command == nullptr)
        return refuse(environment, unknown_command(first));
    return run_named(*command, arguments.subspan(1), environment);
}

} // namespace etna::cli

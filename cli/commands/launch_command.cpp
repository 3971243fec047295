#include "cli/child_process.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/launch_programs.hpp"
#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/hub_options.hpp"
#include "cli/pull_model.hpp"
#include "cli/server_client.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/printable.hpp"
#include "cli/text_io.hpp"
#include "core/base/json.hpp"
#include "core/base/whole_file.hpp"
#include "core/store/model_store.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// The validated command line of `etna launch`.
struct LaunchOptions {
    std::string program;
    std::string model;                  ///< empty: the model of a running server
    std::vector<std::string> arguments; ///< passed to the program
    std::string output = {};            ///< file for an editor's settings; empty: standard output
    ServerChoice choice = {};
    HubOptions hub = {};
};

constexpr std::array<std::string_view, 12> program_names = {"claude", "codex",   "opencode", "aider",
                                                            "cline",  "copilot", "crush",    "goose",
                                                            "pi",     "qwen",    "vscode",   "zed"};

constexpr std::string_view program_hint =
    "name one of claude, codex, opencode, aider, cline, copilot, crush, goose, pi, qwen, vscode and zed";

constexpr std::array launch_positionals = {
    Positional{.name = "PROGRAM",
               .description = "claude, codex, opencode, aider, cline, copilot, crush, goose, pi, qwen; or an "
                              "editor, whose settings are printed: vscode, zed",
               .choices = program_names},
    Positional{.name = "MODEL",
               .description =
                   "a model of a running server, or one as for `etna run`, which is served while the "
                   "program runs; without it, the first model of a running server",
               .presence = Presence::optional,
               .completion = Completion::models},
};

constexpr std::array launch_options = {
    Option{.name = "output",
           .short_name = 'o',
           .value = "FILE",
           .kind = Kind::text,
           .description = "write an editor's settings to this new file",
           .category = Category::output,
           .settable = Settable::command_line},
    url_option,
    server_key_option,
    help_option,
    help_all_option,
};

constexpr std::array launch_examples = {
    Example{"etna launch claude qwen3:8b", "Claude Code with a local model"},
    Example{"etna launch codex", "Codex with the model of the running server"},
    Example{"etna launch claude qwen3:8b -- --continue", "with arguments of the program"},
    Example{"etna launch zed", "the settings for an editor"},
};

const Program& program_named(std::string_view name) {
    return *std::ranges::find(launch_programs(), name, &Program::name);
}

/// Returns the model with this name from the server's list, or its first model if the name is empty. Empty if
/// not found.
std::optional<ServedModel> listed_model(const Json& answer, const RunningServer& server,
                                        const std::string& name) {
    const auto data = answer.find("data");
    for (const Json& listed : data != answer.end() && data->is_array() ? *data : Json::array()) {
        const Json id = listed.is_object() ? listed.value("id", Json()) : Json();
        if (!id.is_string() || (!name.empty() && id != name))
            continue;
        const Json context = listed.value("max_model_len", Json());
        return ServedModel{.server = server,
                           .name = id.get<std::string>(),
                           .context_tokens = context.is_number_unsigned() ? context.get<uint64_t>() : 0};
    }
    return std::nullopt;
}

/// Finds the model among the running servers; empty if none serves it. Errors: those of ask_server() for the
/// server of --url; if no model is given, for the first server that does not answer, which may need a key.
Result<std::optional<ServedModel>> find_served(const LaunchOptions& options, const Environment& environment) {
    std::optional<Error> refused;
    for (const RunningServer& server : chosen_servers(options.choice, environment)) {
        const auto answer = ask_server(server, options.choice.api_key, "/v1/models");
        if (!answer && !options.choice.url.empty())
            return answer.error();
        if (!answer && !refused)
            refused = answer.error();
        auto found = answer ? listed_model(*answer, server, options.model) : std::nullopt;
        if (found) {
            found->api_key = options.choice.api_key;
            return found;
        }
    }
    if (refused && options.model.empty())
        return *refused;
    return std::optional<ServedModel>();
}

Error not_served(const LaunchOptions& options) {
    if (!options.choice.url.empty()) {
        const std::string what = options.model.empty() ? "no model" : "no model " + backquoted(options.model);
        return {ErrorKind::not_found, fmt::format("{} has {}", options.choice.url, what),
                "leave --url out to start a server for it"};
    }
    if (!options.model.empty()) {
        return {ErrorKind::not_found, fmt::format("no running server has {}", backquoted(options.model)),
                fmt::format("start one with `etna serve {}`", options.model)};
    }
    return {ErrorKind::invalid_argument, "no server runs, and no model is given",
            fmt::format("try `etna launch {} qwen3:8b`; `etna list --known` lists models", options.program)};
}

/// Returns the folder for what this command writes. Errors: io.
Result<std::filesystem::path> launch_folder(const Environment& environment) {
    const std::filesystem::path folder = history_file(environment.variables).parent_path();
    std::error_code failure;
    if (!folder.empty())
        std::filesystem::create_directories(folder, failure);
    if (folder.empty() || failure)
        return Error{ErrorKind::io, "there is no folder for the server's log", "set HOME, or XDG_STATE_HOME"};
    return folder;
}

/// Returns the program's own folder, which only the user can read. Errors: io.
Result<std::filesystem::path> program_folder(const Program& program, const Environment& environment) {
    ETNA_TRY(std::filesystem::path folder, launch_folder(environment));
    folder = folder / "launch" / program.name;
    std::error_code failure;
    std::filesystem::create_directories(folder, failure);
    if (!failure)
        std::filesystem::permissions(folder, std::filesystem::perms::owner_all, failure);
    if (failure) {
        return Error{ErrorKind::io, fmt::format("cannot create {}: {}", folder.string(), failure.message()),
                     "make its parent folder writable"};
    }
    return folder;
}

Status write_settings(const std::vector<SettingsFile>& files, const std::filesystem::path& folder) {
    for (const SettingsFile& file : files) {
        const std::array parts = {std::as_bytes(std::span(file.content))};
        ETNA_CHECK(write_whole_file(folder / file.name, parts));
    }
    return {};
}

/// Returns the environment of a server that this command starts. It inherits the folders of models and the
/// choice of device, but no other options of etna and no configuration file: their keys, ports and models are
/// meant for other servers.
Variables server_variables(const Environment& environment) {
    Variables variables = environment.variables;
    std::erase_if(variables, [](const auto& variable) {
        return variable.first.starts_with("ETNA_") && variable.first != "ETNA_MODELS" &&
               variable.first != "ETNA_DEVICE" && variable.first != "ETNA_CHECKS";
    });
    variables["XDG_CONFIG_HOME"] = "/nonexistent";
    return variables;
}

/// A server that runs for the lifetime of this object.
struct OwnServer {
    ChildProcess process;
    ServedModel model;
};

/// Serves the model on a free port. Errors: those of find_model() and ask_server(); io (the server exited;
/// the message is its log).
Result<OwnServer> start_server(const LaunchOptions& options, const Environment& environment,
                               Diagnostics& diagnostics) {
    ETNA_CHECK(
        find_model(options.model, options.hub, environment, diagnostics)); // downloads here, with progress
    ETNA_TRY(const std::filesystem::path folder, launch_folder(environment));
    const std::filesystem::path log = folder / "launch.log";
    diagnostics.status(fmt::format("starting a server for {}", printable(options.model)));
    auto started = ChildProcess::start_service({.executable = "/proc/self/exe",
                                                .arguments = {"serve", "--host", "127.0.0.1", "--port", "0",
                                                              "--drain-timeout", "1", "--", options.model},
                                                .variables = server_variables(environment)},
                                               log);
    diagnostics.status("");
    if (!started)
        return started.error();
    if (started->first_line.empty()) {
        constexpr std::size_t log_bytes_max = 64 * kibibyte;
        const auto text = read_text_file(log, log_bytes_max);
        return Error{ErrorKind::io,
                     fmt::format("the server ended at its start: {}", text ? *text : "without a log")};
    }
    const RunningServer server = {.url = started->first_line, .certificate = {}};
    ETNA_TRY(const Json answer, ask_server(server, "", "/v1/models"));
    auto model = listed_model(answer, server, "");
    if (!model)
        return Error{ErrorKind::internal, "the server that was started has no model"};
    diagnostics.line(
        fmt::format("serving {} at {}; log: {}", printable(model->name), server.url, log.string()));
    return OwnServer{.process = std::move(started->process), .model = std::move(*model)};
}

/// Runs the program with the model until it exits. Returns its exit code. Errors: io.
Result<int> run_program(const Program& program, const std::filesystem::path& executable,
                        const LaunchOptions& options, const ServedModel& model,
                        const Environment& environment) {
    ETNA_TRY(const std::filesystem::path folder, program_folder(program, environment));
    ProgramSettings settings = program.settings(model, folder);
    ETNA_CHECK(write_settings(settings.files, folder));
    settings.arguments.insert(settings.arguments.end(), options.arguments.begin(), options.arguments.end());
    if (!model.server.certificate.empty())
        settings.variables.emplace(program.certificate_variable, model.server.certificate.string());
    Variables variables = settings.variables; // these take precedence
    variables.insert(environment.variables.begin(), environment.variables.end());
    const EndSignal signals = environment.watch_end_signals();
    const auto interrupts =
        environment.watch_interrupts(SecondInterrupt::is_reported); // the program handles Ctrl-C
    ETNA_TRY(ChildProcess process, ChildProcess::start({.executable = executable,
                                                        .arguments = std::move(settings.arguments),
                                                        .variables = std::move(variables)}));
    return process.wait(signals);
}

/// Prints the settings of an editor, or writes them to a new file. Returns the exit code. Errors: io; those
/// of find_served() and not_served().
Result<int> print_settings(const Program& program, const LaunchOptions& options,
                           const Environment& environment, Diagnostics& diagnostics) {
    ETNA_TRY(const std::optional<ServedModel> model, find_served(options, environment));
    if (!model) {
        Error error = not_served(options);
        error.hint = "start one with `etna serve MODEL`: it has to run as long as the editor";
        return error;
    }
    const std::string text = program.settings(*model, {}).files.front().content + "\n";
    diagnostics.note(fmt::format("settings of {}: {}", program.title, program.hint));
    if (options.output.empty()) {
        Output output(environment.output);
        if (output.write(text) == OutputState::failed)
            return output.error();
        return 0;
    }
    std::error_code ignored;
    if (std::filesystem::exists(options.output, ignored)) {
        return Error{ErrorKind::io, fmt::format("{} exists already", printable(options.output)),
                     "name a new file, and merge it into the editor's own"};
    }
    const std::array parts = {std::as_bytes(std::span(text))};
    ETNA_CHECK(write_whole_file(options.output, parts));
    return 0;
}

Result<int> launch(const LaunchOptions& options, const Environment& environment, Diagnostics& diagnostics) {
    const Program& program = program_named(options.program);
    if (program.is_editor())
        return print_settings(program, options, environment, diagnostics);
    const std::filesystem::path executable = find_executable(program.executable, environment.variables);
    if (executable.empty()) {
        return Error{ErrorKind::not_found, fmt::format("{} is not in PATH", program.executable),
                     std::string(program.hint)};
    }
    ETNA_TRY(std::optional<ServedModel> model, find_served(options, environment));
    std::optional<OwnServer> own;
    if (!model) {
        if (options.model.empty() || !options.choice.url.empty())
            return not_served(options);
        auto started = start_server(options, environment, diagnostics);
        if (!started)
            return started.error();
        own.emplace(std::move(*started));
        model = own->model;
    }
    if (model->context_tokens > 0 && model->context_tokens < program.context_tokens_min) {
        diagnostics.warning(fmt::format("{} has a context of {} tokens; {} needs about {}",
                                        printable(model->name), model->context_tokens, program.name,
                                        program.context_tokens_min));
    }
    return run_program(program, executable, options, *model, environment);
}

/// Errors: invalid_argument.
Result<LaunchOptions> validate_launch(const Command& command, const TypedArguments& arguments) {
    const OptionValues values(command, arguments);
    if (arguments.positionals.empty())
        return invalid_argument("no program given", std::string(program_hint));
    LaunchOptions options = {.program = arguments.positionals[0],
                             .model = arguments.positionals.size() > 1 ? arguments.positionals[1] : "",
                             .arguments = arguments.rest};
    if (std::ranges::find(program_names, options.program) == program_names.end()) {
        return invalid_argument(
            fmt::format("{} is not a program that can be launched", backquoted(options.program)),
            std::string(program_hint));
    }
    options.output = values.text("output").value_or("");
    if (!options.output.empty() && !program_named(options.program).is_editor())
        return invalid_argument("--output is for the settings of an editor", "leave it out");
    ETNA_TRY(options.choice, read_server_choice(values));
    ETNA_TRY(options.hub, read_hub(values));
    return options;
}

/// Runs `etna launch`. Blocking.
ExitCode launch_command(const LaunchOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    const auto code = launch(options, environment, diagnostics);
    if (code)
        return static_cast<ExitCode>(*code);
    diagnostics.error(code.error());
    return ExitCode::failed;
}

} // namespace

Command launch_spec() {
    static const std::vector<Option> options = joined({launch_options, hub_options()});
    return {.name = "launch",
            .summary = "run Claude Code, Codex and other programs with a local model",
            .description =
                "Runs the program with a model of this machine: with a model of a running `etna serve`, "
                "else with a server that runs as long as the program. The program also gets the model's "
                "context, a limit for an answer (a quarter of it, at most 32,000 tokens), and a size at "
                "which it compacts a conversation (the rest). Its settings are set for this run alone: by "
                "arguments, variables, and files in $XDG_STATE_HOME/etna/launch; files of the program are "
                "not changed, but Crush reads no global file of its own meanwhile. Of editors the settings "
                "are printed.\n\n"
                "Programs: Claude Code, Codex, opencode, aider, Cline, Copilot CLI, Crush, goose, pi, Qwen "
                "Code. Editors: VS Code, Zed.",
            .positionals = launch_positionals,
            .options = options,
            .examples = launch_examples,
            .rest = {"ARGUMENT", "arguments for the program"},
            .run = run_validated<validate_launch, launch_command>};
}

} // namespace etna::cli

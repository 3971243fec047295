#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "cli/server_client.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/printable.hpp"
#include "core/base/json.hpp"

#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// The validated command line of `etna stop`.
struct StopOptions {
    std::vector<std::string> models;
    ServerChoice choice;
};

constexpr std::array stop_positionals = {
    Positional{.name = "MODEL",
               .description = "a model's name, as `etna ps` shows it",
               .completion = Completion::models,
               .repeat = Repeat::collect},
};

constexpr std::array stop_options = {url_option, server_key_option, help_option, help_all_option};

constexpr std::array stop_examples = {
    Example{"etna stop demo", "free the memory of a model in every running server"},
    Example{"etna stop qwen3:0.6b --url http://127.0.0.1:9000", "in one server"},
};

bool flag_in(const Json& answer, const char* name) {
    return answer.contains(name) && answer[name].is_boolean() && answer[name].get<bool>();
}

std::string effect_text(const std::string& model, const std::string& url, const Json& answer) {
    if (!flag_in(answer, "was_loaded"))
        return fmt::format("{} is not in the memory of {}", printable(model), printable(url));
    return fmt::format(
        "stopped {} of {}{}", printable(model), printable(url),
        flag_in(answer, "waits_for_requests") ? "; its memory is freed when the running requests end" : "");
}

/// Stops a model in each server that has it, and reports what happens. Returns false if a server failed, or
/// none has the model.
bool stop_model(const std::string& model, const std::vector<RunningServer>& servers,
                const std::string& api_key, Diagnostics& diagnostics) {
    bool is_served = false;
    bool has_failed = false;
    for (const RunningServer& server : servers) {
        const auto answer = ask_server(server, api_key, "/models/unload", {{"model", model}});
        if (answer) {
            is_served = true;
            diagnostics.line(effect_text(model, server.url, *answer));
        } else if (answer.error().kind != ErrorKind::not_found || servers.size() == 1) {
            has_failed = true;
            diagnostics.error(answer.error());
        }
    }
    if (!is_served && !has_failed) {
        diagnostics.error({ErrorKind::not_found,
                           fmt::format("no running server has the model {}", backquoted(model)),
                           "`etna ps` lists the models in memory"});
    }
    return is_served && !has_failed;
}

/// Errors: invalid_argument.
Result<StopOptions> validate_stop(const Command& command, const TypedArguments& arguments) {
    if (arguments.positionals.empty())
        return invalid_argument("no model given", "`etna ps` lists the models in memory");
    ETNA_TRY(auto choice, read_server_choice(OptionValues(command, arguments)));
    return StopOptions{.models = arguments.positionals, .choice = std::move(choice)};
}

/// Runs `etna stop`. Blocking.
ExitCode stop_command(const StopOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    const auto servers = chosen_servers(options.choice, environment);
    if (servers.empty()) {
        diagnostics.error({ErrorKind::not_found, "no `etna serve` of this user runs on this machine",
                           "name another server with --url"});
        return ExitCode::failed;
    }
    ExitCode code = ExitCode::done;
    for (const std::string& model : options.models) {
        if (!stop_model(model, servers, options.choice.api_key, diagnostics))
            code = ExitCode::failed;
    }
    return code;
}

} // namespace

Command stop_spec() {
    return {.name = "stop",
            .summary = "free the memory of a model in running servers",
            .description =
                "Asks each `etna serve` of this user on this machine, or the one at --url, to unload the "
                "model. Running requests finish first. A model that is pinned, or that another client has "
                "used within the last minute, stays. The server continues, and loads the model again on its "
                "next request.",
            .positionals = stop_positionals,
            .options = stop_options,
            .examples = stop_examples,
            .run = run_validated<validate_stop, stop_command>};
}

} // namespace etna::cli

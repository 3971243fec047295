#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/server_client.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/printable.hpp"
#include "core/base/json.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

/// The validated command line of `etna ps`.
struct PsOptions {
    ServerChoice choice;
    bool as_json = false;
};

constexpr std::array ps_options = {
    url_option,
    server_key_option,
    Option{.name = "json", .description = "print one JSON object", .category = Category::output},
    help_option,
    help_all_option,
};

constexpr std::array ps_examples = {
    Example{"etna ps", "the models in the memory of running servers"},
    Example{"etna ps --url http://10.0.0.7:8080 --api-key KEY", "those of a server on another machine"},
};

/// A model that a server holds or loads.
struct ResidentModel {
    std::string name;
    bool is_loading = false;
    std::string device = {};
    uint64_t memory_bytes = 0;
    uint64_t context_tokens = 0; ///< 0: unknown
    uint64_t running = 0;        ///< requests
    uint64_t waiting = 0;
    uint64_t waiting_raised = 0; ///< with a priority below 0; of `waiting`
    uint64_t waiting_lowered = 0;
    uint64_t idle_s = 0;
    bool is_pinned = false;
    std::optional<uint64_t> unloads_in_s = {}; ///< empty: it stays in memory
};

/// A server and its models in memory.
struct ServerReport {
    std::string url;
    std::vector<ResidentModel> models;
};

uint64_t number_in(const Json& object, const char* name) {
    return object.is_object() && object.contains(name) && object[name].is_number_unsigned()
               ? object[name].get<uint64_t>()
               : 0;
}

std::string text_in(const Json& object, const char* name) {
    return object.is_object() && object.contains(name) && object[name].is_string()
               ? object[name].get<std::string>()
               : std::string();
}

/// Reads the models in memory from the answer to GET /v1/models; a model's aliases are left out.
std::vector<ResidentModel> resident_models(const Json& answer) {
    std::vector<ResidentModel> models;
    const auto data = answer.find("data");
    for (const Json& listed : data != answer.end() && data->is_array() ? *data : Json::array()) {
        const std::string name = text_in(listed, "id");
        const std::string state = listed.is_object() ? text_in(listed.value("status", Json()), "value") : "";
        if ((state != "loaded" && state != "loading") || name != text_in(listed, "root"))
            continue;
        const Json held = listed.value("etna", Json());
        models.push_back({.name = name,
                          .is_loading = state == "loading",
                          .device = text_in(held, "device"),
                          .memory_bytes = number_in(held, "memory_bytes"),
                          .context_tokens = number_in(listed, "max_model_len"),
                          .running = number_in(held, "requests_running"),
                          .waiting = number_in(held, "requests_waiting"),
                          .waiting_raised = number_in(held, "requests_waiting_raised"),
                          .waiting_lowered = number_in(held, "requests_waiting_lowered"),
                          .idle_s = number_in(held, "idle_s"),
                          .is_pinned = held.is_object() && held.value("pinned", Json()) == true});
        if (held.is_object() && held.value("unloads_in_s", Json()).is_number_unsigned())
            models.back().unloads_in_s = number_in(held, "unloads_in_s");
    }
    return models;
}

/// ", 5 waiting (1 raised, 3 lowered)"; empty if none waits.
std::string waiting_text(const ResidentModel& model) {
    if (model.waiting == 0)
        return {};
    std::string text = fmt::format(", {} waiting", model.waiting);
    std::vector<std::string> classes;
    if (model.waiting_raised > 0)
        classes.push_back(fmt::format("{} raised", model.waiting_raised));
    if (model.waiting_lowered > 0)
        classes.push_back(fmt::format("{} lowered", model.waiting_lowered));
    return classes.empty() ? text : text + fmt::format(" ({})", fmt::join(classes, ", "));
}

/// Formats as "5 min": rounded down to the largest unit that fits.
std::string duration_text(uint64_t seconds) {
    constexpr uint64_t minute_s = 60;
    constexpr uint64_t hour_s = 3600;
    if (seconds >= hour_s)
        return fmt::format("{} h", seconds / hour_s);
    return seconds >= minute_s ? fmt::format("{} min", seconds / minute_s) : fmt::format("{} s", seconds);
}

std::string activity_text(const ResidentModel& model) {
    if (model.is_loading)
        return "loading";
    if (model.running > 0 || model.waiting > 0)
        return fmt::format("{} running{}", model.running, waiting_text(model));
    const std::string idle = "idle for " + duration_text(model.idle_s);
    if (model.is_pinned)
        return idle + ", pinned";
    return model.unloads_in_s ? fmt::format("{}, unloads in {}", idle, duration_text(*model.unloads_in_s))
                              : idle;
}

std::string ps_text(const std::vector<ServerReport>& servers) {
    std::vector<std::vector<std::string>> rows = {
        {"NAME", "MEMORY", "CONTEXT", "REQUESTS", "SERVER", "DEVICE"}};
    for (const ServerReport& server : servers) {
        for (const ResidentModel& model : server.models) {
            rows.push_back({printable(model.name), model.is_loading ? "" : size_text(model.memory_bytes),
                            model.context_tokens == 0 ? "" : fmt::format("{}", model.context_tokens),
                            activity_text(model), printable(server.url), printable(model.device)});
        }
    }
    return table_text(rows, {1, 2});
}

Json ps_json(const std::vector<ServerReport>& servers) {
    Json entries = Json::array();
    for (const ServerReport& server : servers) {
        Json models = Json::array();
        for (const ResidentModel& model : server.models) {
            models.push_back({{"name", model.name},
                              {"state", model.is_loading ? "loading" : "loaded"},
                              {"device", model.device},
                              {"memory_bytes", model.memory_bytes},
                              {"context_tokens", model.context_tokens},
                              {"requests_running", model.running},
                              {"requests_waiting", model.waiting},
                              {"requests_waiting_raised", model.waiting_raised},
                              {"requests_waiting_lowered", model.waiting_lowered},
                              {"idle_s", model.idle_s},
                              {"pinned", model.is_pinned},
                              {"unloads_in_s", model.unloads_in_s ? Json(*model.unloads_in_s) : Json()}});
        }
        entries.push_back({{"url", server.url}, {"models", std::move(models)}});
    }
    return {{"servers", std::move(entries)}};
}

/// Errors: invalid_argument.
Result<PsOptions> validate_ps(const Command& command, const TypedArguments& arguments) {
    const OptionValues values(command, arguments);
    PsOptions options;
    ETNA_TRY(options.choice, read_server_choice(values));
    ETNA_TRY(options.as_json, values.flag("json"));
    return options;
}

/// Runs `etna ps`. Blocking.
ExitCode ps_command(const PsOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    ExitCode code = ExitCode::done;
    std::vector<ServerReport> reports;
    const auto servers = chosen_servers(options.choice, environment);
    if (servers.empty())
        diagnostics.note("no `etna serve` of this user runs on this machine; --url names another");
    for (const RunningServer& server : servers) {
        const auto answer = ask_server(server, options.choice.api_key, "/v1/models");
        if (answer) {
            reports.push_back({server.url, resident_models(*answer)});
        } else {
            diagnostics.error(answer.error());
            code = ExitCode::failed;
        }
    }
    const bool holds_none =
        std::ranges::all_of(reports, [](const ServerReport& one) { return one.models.empty(); });
    if (!reports.empty() && holds_none)
        diagnostics.note("no model is in memory; a request, or `etna launch`, loads one");
    Output output(environment.output);
    output.write(options.as_json ? dump_json_indented(ps_json(reports)) + "\n" : ps_text(reports));
    if (output.state() != OutputState::failed)
        return code;
    diagnostics.error(output.error());
    return ExitCode::failed;
}

} // namespace

Command ps_spec() {
    return {.name = "ps",
            .summary = "list the models that running servers hold in memory",
            .description =
                "Asks each `etna serve` of this user on this machine, or the one at --url, through its "
                "HTTP API. A model's memory is that of the device and of the host, as `etna plan` "
                "counts it, with its draft model.",
            .positionals = {},
            .options = ps_options,
            .examples = ps_examples,
            .run = run_validated<validate_ps, ps_command>};
}

} // namespace etna::cli

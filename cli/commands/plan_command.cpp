#include "cli/commands/commands.hpp"
#include "cli/commands/plan_list.hpp"
#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/compat.hpp"
#include "cli/options/generation_options.hpp"
#include "cli/options/hub_options.hpp"
#include "cli/options/option_values.hpp"
#include "cli/pull_model.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/printable.hpp"
#include "core/base/bytes.hpp"
#include "core/base/json.hpp"
#include "core/generate/model.hpp"
#include "core/runtime/memory_forecast.hpp"
#include "core/store/known_models.hpp"
#include "core/store/resolve.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// The validated command line of `etna plan`.
struct PlanOptions {
    std::string model; ///< empty with `lists_known`
    bool lists_known = false;
    std::string draft; ///< empty: none
    runtime::ExecutorOptions executor;
    HubOptions hub;
    bool as_json = false;
};

constexpr double plan_parallel_max = 256;

constexpr std::array plan_positionals = {
    Positional{.name = "MODEL",
               .description =
                   "a model as for `etna run`; of one that is not stored, the header is read at the hub",
               .presence = Presence::optional,
               .completion = Completion::models},
};

constexpr std::array plan_rows = {
    Option{.name = "parallel",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, plan_parallel_max},
           .default_text = "1",
           .description = "answers at a time; `etna serve` plans for 16",
           .category = Category::device},
    Option{.name = "draft",
           .value = "MODEL",
           .kind = Kind::text,
           .description = "also plan this draft model, which is loaded first",
           .category = Category::device},
    Option{.name = "list",
           .description = "list the known models that fit the device, and how fast they will be",
           .category = Category::output,
           .settable = Settable::command_line},
    Option{.name = "json", .description = "print one JSON object", .category = Category::output},
    help_option,
    help_all_option,
};

constexpr auto plan_compat =
    joined(compat_model, compat_experts,
           std::array{CompatOption{.names = "-dev", .ours = "device"},
                      CompatOption{.names = "-ctk, --cache-type-k", .ours = "key-type"},
                      CompatOption{.names = "-ctv, --cache-type-v", .ours = "value-type"},
                      CompatOption{.names = "-np", .ours = "parallel"}});

constexpr std::array plan_examples = {
    Example{"etna plan demo", "the memory of a model with its whole context"},
    Example{"etna plan model.gguf -c 32768 --kv-type q8_0", "with another context and cache"},
    Example{"etna plan model.gguf --parallel 16 --json", "as `etna serve` loads it"},
    Example{"etna plan qwen3:8b", "before the download"},
    Example{"etna plan --list", "models for this machine"},
};

using engine::MemoryPlace;
using engine::MemoryUse;
using runtime::DeviceReport;
using runtime::MemoryForecast;

/// The data of a printed plan.
struct PlanReport {
    std::string model;
    uint64_t download_bytes = 0; ///< 0: the model is stored
    DeviceReport device;
    MemoryForecast forecast;
};

std::string_view place_name(MemoryPlace place) {
    return place == MemoryPlace::device ? "device" : "host";
}

std::string_view format_name(kernels::CacheFormat format) {
    constexpr std::array<std::string_view, kernels::cache_format_count> names = {"f32", "f16", "q8_0"};
    return names[static_cast<std::size_t>(format)];
}

Json plan_json(const PlanReport& report) {
    const MemoryForecast& forecast = report.forecast;
    const engine::DevicePlan& plan = forecast.plan;
    Json uses = Json::array();
    for (const MemoryUse& use : forecast.memory.uses) {
        uses.push_back({{"bytes", use.bytes},
                        {"detail", use.detail},
                        {"kind", to_string(use.kind)},
                        {"place", place_name(use.place)}});
    }
    Json error;
    if (forecast.shortage)
        error = {{"hint", forecast.shortage->hint}, {"message", forecast.shortage->message}};
    return {{"context_tokens", plan.limits.context_tokens},
            {"device", report.device.profile.name},
            {"device_bytes", forecast.memory.reserved_bytes(MemoryPlace::device)},
            {"device_free_bytes", plan.free_bytes},
            {"device_reserve_bytes", plan.reserve_bytes},
            {"download_bytes", report.download_bytes},
            {"error", error},
            {"fits", !forecast.shortage},
            {"host_bytes", forecast.memory.reserved_bytes(MemoryPlace::host)},
            {"host_expert_layers", plan.host_experts.layers},
            {"host_expert_row_bytes", plan.host_experts.row_bytes},
            {"key_type", format_name(plan.cache_formats.keys)},
            {"memory", uses},
            {"model", report.model},
            {"model_context_tokens", plan.model_context_tokens},
            {"parallel", plan.limits.sequences_max},
            {"value_type", format_name(plan.cache_formats.values)}};
}

std::string context_text(const engine::DevicePlan& plan) {
    const std::string own =
        plan.model_context_tokens == 0 ? "" : fmt::format(" (the model's: {})", plan.model_context_tokens);
    return fmt::format("{} tokens{}, keys in {}, values in {}", plan.limits.context_tokens, own,
                       format_name(plan.cache_formats.keys), format_name(plan.cache_formats.values));
}

std::string plan_text(const PlanReport& report) {
    const MemoryForecast& forecast = report.forecast;
    const engine::DevicePlan& plan = forecast.plan;
    const bool has_host = forecast.memory.reserved_bytes(MemoryPlace::host) > 0;
    std::string text = fmt::format("{} on {}\n", report.model, report.device.profile.name);
    if (report.download_bytes > 0)
        text +=
            fmt::format("{:<12} {}; the model is not stored\n", "download", size_text(report.download_bytes));
    text += fmt::format("{:<12} {}\n", "context", context_text(plan));
    text += fmt::format("{:<12} {}\n", "parallel", plan.limits.sequences_max);
    if (plan.host_experts.layers > 0)
        text += fmt::format("{:<12} {}\n", "experts", text_of(plan.host_experts));
    text += '\n';
    const auto line = [&](std::string_view label, std::string_view place, uint64_t bytes,
                          std::string_view detail) {
        text +=
            fmt::format("{:<12} {:>10}{}{}{}\n", label, size_text(bytes),
                        has_host ? fmt::format("  {:<6}", place) : "", detail.empty() ? "" : "  ", detail);
    };
    for (const MemoryUse& use : forecast.memory.uses)
        line(to_string(use.kind), place_name(use.place), use.bytes, use.detail);
    text += '\n';
    for (const MemoryPlace place : {MemoryPlace::device, MemoryPlace::host}) {
        if (const uint64_t bytes = forecast.memory.reserved_bytes(place); bytes > 0)
            line("total", place_name(place), bytes, {});
    }
    line("free", "device", plan.free_bytes,
         fmt::format("{} of it stay in reserve for the driver and other programs",
                     size_text(plan.reserve_bytes)));
    return text;
}

/// Returns the device that a model would be loaded onto. Errors: those of the lister, no_device.
Result<DeviceReport> chosen_device(const std::string& selector, const Environment& environment) {
    ETNA_TRY(const auto reports, environment.device_lister(selector, cache_folder(environment.variables)));
    const auto chosen =
        std::find_if(reports.begin(), reports.end(), [](const DeviceReport& one) { return one.is_chosen; });
    if (chosen == reports.end()) {
        return Error{ErrorKind::no_device, "no device can run models",
                     "`etna devices` tells what is missing"};
    }
    return *chosen;
}

/// Errors: invalid_argument.
Result<PlanOptions> validate_plan(const Command& command, const TypedArguments& arguments) {
    const OptionValues values(command, arguments);
    PlanOptions options;
    options.model = arguments.positionals.empty() ? "" : arguments.positionals[0];
    ETNA_TRY(options.lists_known, values.flag("list"));
    if (options.lists_known && !options.model.empty())
        return invalid_argument("--list takes no model", "leave one of them out");
    if (!options.lists_known && options.model.empty())
        return invalid_argument("no model given",
                                "try `etna plan demo`, `etna plan --list` or `etna plan --help`");
    ETNA_TRY(options.hub, read_hub(values));
    ETNA_CHECK(read_device(values, options.executor));
    ETNA_TRY(const auto parallel, values.integer("parallel"));
    options.executor.sequences_max = parallel.value_or(1);
    options.draft = values.text("draft").value_or("");
    ETNA_TRY(options.as_json, values.flag("json"));
    return options;
}

/// A model's file, or its header at the hub.
struct PlannedFile {
    gguf::File file;
    uint64_t download_bytes = 0; ///< 0: it is stored
};

/// Errors: those of store::resolve() and open_remote_model().
Result<PlannedFile> open_model(const std::string& model, const HubOptions& hub,
                               const Environment& environment) {
    const auto source =
        store::resolve(model, models_folder(environment.variables), foreign_folders(environment.variables));
    if (source) {
        ETNA_TRY(gguf::File file, generate::open_file(*source));
        return PlannedFile{.file = std::move(file)};
    }
    const auto remote_name = store::parse_remote_name(model);
    if (source.error().kind != ErrorKind::not_found || !remote_name ||
        std::holds_alternative<store::LocalModel>(*remote_name))
        return source.error();
    ETNA_TRY(store::RemoteModel remote, open_remote_model(model, hub, environment));
    return PlannedFile{.file = std::move(remote.file), .download_bytes = remote.plan.bytes};
}

/// As generate::Model::load() does: the draft model takes its memory first, with the same options.
Result<MemoryForecast> forecast_with_draft(const gguf::File& file, const PlanOptions& options,
                                           DeviceReport device, const Environment& environment) {
    if (options.draft.empty())
        return runtime::forecast_memory(file, device, options.executor);
    ETNA_TRY(const PlannedFile opened, open_model(options.draft, options.hub, environment));
    const gguf::File& draft_file = opened.file;
    const uint64_t free_bytes = device.free_bytes;
    runtime::ExecutorOptions draft_options = options.executor;
    draft_options.host_expert_layers = 0;
    draft_options.has_draft_head = false;
    ETNA_TRY(MemoryForecast draft, runtime::forecast_memory(draft_file, device, draft_options));
    device.free_bytes -= std::min(free_bytes, draft.memory.reserved_bytes(MemoryPlace::device));
    runtime::ExecutorOptions model_options = options.executor;
    model_options.has_draft_head = false; // the draft model drafts
    ETNA_TRY(MemoryForecast both, runtime::forecast_memory(file, device, model_options));
    both.plan.free_bytes = free_bytes;
    for (MemoryUse& use : draft.memory.uses) {
        use.detail = use.detail.empty() ? "draft model" : fmt::format("draft model, {}", use.detail);
        both.memory.uses.push_back(std::move(use));
    }
    if (draft.shortage)
        both.shortage = std::move(draft.shortage);
    return both;
}

Result<PlanReport> make_report(const PlanOptions& options, const Environment& environment) {
    ETNA_TRY(const PlannedFile opened, open_model(options.model, options.hub, environment));
    ETNA_TRY(const DeviceReport device, chosen_device(options.executor.device, environment));
    ETNA_TRY(MemoryForecast forecast, forecast_with_draft(opened.file, options, device, environment));
    return PlanReport{.model = options.model,
                      .download_bytes = opened.download_bytes,
                      .device = device,
                      .forecast = std::move(forecast)};
}

/// Returns what is known of a model whose hub cannot be asked; empty if that is nothing, or the error
/// another.
std::string known_facts(const PlanOptions& options, const Error& error) {
    constexpr uint64_t megabyte = 1'000'000;
    constexpr uint64_t million = 1'000'000;
    const store::KnownModel* known = store::known_model(options.model);
    const bool is_absent = options.hub.network == Network::unused && error.kind == ErrorKind::not_found;
    const bool is_offline =
        error.kind == ErrorKind::unreachable || is_absent; // not if a stored file is broken
    if (known == nullptr || !is_offline)
        return {};
    if (options.as_json) {
        return dump_json_indented({{"model", options.model},
                                   {"name", known->name},
                                   {"download_bytes", known->download_mb * megabyte},
                                   {"parameters", known->parameters_m * million},
                                   {"active_parameters", known->active_m * million},
                                   {"model_context_tokens", known->context_tokens},
                                   {"memory", Json()}}) +
               "\n";
    }
    const std::string active = known->active_m == known->parameters_m
                                   ? ""
                                   : fmt::format(", {} million for each token", known->active_m);
    return fmt::format("{}\n{:<12} {}\n{:<12} {} million{}\n{:<12} {} tokens\n", known->name, "download",
                       size_text(known->download_mb * megabyte), "parameters", known->parameters_m, active,
                       "context", known->context_tokens);
}

ExitCode print_plan(const std::string& text, const Environment& environment, Diagnostics& diagnostics) {
    Output output(environment.output);
    output.write(text);
    if (output.state() != OutputState::failed)
        return ExitCode::done;
    diagnostics.error(output.error());
    return ExitCode::failed;
}

/// Runs `etna plan --list`. Blocking.
ExitCode list_known_plans(const PlanOptions& options, const Environment& environment,
                          Diagnostics& diagnostics) {
    const auto device = chosen_device(options.executor.device, environment);
    if (device) {
        return list_plans(*device, options.as_json ? PlanFormat::json : PlanFormat::text, environment,
                          diagnostics);
    }
    diagnostics.error(device.error());
    return ExitCode::failed;
}

/// Runs `etna plan`: prints the memory of a model on a device, from its file's metadata. Blocking.
ExitCode plan_command(const PlanOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    const LogToDiagnostics log(diagnostics, Verbosity::quiet);
    if (options.lists_known)
        return list_known_plans(options, environment, diagnostics);
    const auto report = make_report(options, environment);
    if (!report) {
        const std::string facts = known_facts(options, report.error());
        if (facts.empty()) {
            diagnostics.error(report.error());
            return ExitCode::failed;
        }
        diagnostics.warning(fmt::format("no plan of the memory, only what the table of known models has: {}",
                                        report.error().message));
        return print_plan(facts, environment, diagnostics);
    }
    const ExitCode printed =
        print_plan(options.as_json ? dump_json_indented(plan_json(*report)) + "\n" : plan_text(*report),
                   environment, diagnostics);
    if (printed != ExitCode::done)
        return printed;
    if (!report->forecast.shortage)
        return ExitCode::done;
    if (!options.as_json)
        diagnostics.error(*report->forecast.shortage);
    return ExitCode::failed;
}

} // namespace

Command plan_spec() {
    static const std::vector<Option> options = joined({device_options(), plan_rows, hub_options()});
    return {.name = "plan",
            .summary = "show the memory that a model takes on a device",
            .description =
                "Prints the memory that a model would take, by kind and place, and what the device has free. "
                "Only the metadata of the model's file is read, and nothing is loaded. Weights are listed "
                "by layout; `cache` is keys and values, `unused` the part of the driver's blocks that no "
                "buffer fills. The driver takes more for itself, out of the reserve. `run`, `chat` and "
                "`serve` use the same plan.\n\n"
                "If the model does not fit, the table shows what it would need, and the exit code is 1.\n\n"
                "Of a model that is not stored, metadata and tensor directory are read at the hub: some MiB. "
                "Without a network, only what `etna list --known` has is printed.\n\n"
                "`--list` estimates. A token of an answer takes the bytes of the weights that it reads, at "
                "the rate of copies, and the cost of each dispatch; a prompt two operations for each weight "
                "and token, at the rate of the matrix units, which kernels do not reach. The three rates are "
                "measured each time, and the best so far of a device and driver count.",
            .positionals = plan_positionals,
            .options = options,
            .examples = plan_examples,
            .compat = plan_compat,
            .run = run_validated<validate_plan, plan_command>};
}

} // namespace etna::cli

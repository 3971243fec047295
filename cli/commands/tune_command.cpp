#include "cli/bench/text_table.hpp"
#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/generation_options.hpp"
#include "cli/options/option_values.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "core/base/json.hpp"
#include "core/generate/model.hpp"
#include "core/store/resolve.hpp"

#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// The validated command line of `etna tune`.
struct TuneOptions {
    std::string model;  ///< empty with `reset`
    std::string device; ///< empty: the best device
    kernels::Precision precision = kernels::Precision::exact;
    bool reset = false;
    bool as_json = false;
};

constexpr std::array tune_positionals = {
    Positional{.name = "MODEL",
               .description = "`demo`, a path to a .gguf file, or the name of a stored model",
               .presence = Presence::optional,
               .completion = Completion::models}};

constexpr std::array tune_options = {
    Option{.name = "device",
           .value = "DEVICE",
           .kind = Kind::text,
           .default_text = "the best GPU, else the CPU",
           .description = "Vulkan device, by number, UUID or part of its name",
           .category = Category::device},
    precision_option,
    Option{.name = "reset",
           .description = "forget what was measured on the device, for all models",
           .category = Category::device,
           .settable = Settable::command_line},
    Option{.name = "json", .description = "print one JSON object", .category = Category::output},
    help_option,
    help_all_option,
};

constexpr std::array tune_examples = {
    Example{"etna tune model.gguf", "measure the kernels of a model on the best device"},
    Example{"etna devices -v", "the stored choices"},
    Example{"etna tune --reset", "return to the policy's choices"},
};

/// Errors: invalid_argument.
Result<TuneOptions> validate_tune(const Command& command, const TypedArguments& arguments) {
    const OptionValues values(command, arguments);
    TuneOptions options;
    options.model = arguments.positionals.empty() ? "" : arguments.positionals[0];
    options.device = values.text("device").value_or("");
    ETNA_TRY(options.precision, read_precision(values));
    ETNA_TRY(options.reset, values.flag("reset"));
    ETNA_TRY(options.as_json, values.flag("json"));
    if (options.reset && !options.model.empty())
        return invalid_argument("--reset takes no model", "it forgets the choices of all models");
    if (!options.reset && options.model.empty())
        return invalid_argument("no model given", "try `etna tune demo`, or `etna tune --help`");
    return options;
}

std::string time_cell(double time_us) {
    return time_us == 0 ? "-" : fmt::format("{:.1f}", time_us);
}

std::string tune_text(const runtime::TuneReport& report) {
    TextTable table = {{"kernel", "policy us", "us", "times", "sizes"}};
    for (const kernels::TunedChoice& one : report.choices) {
        const bool is_policy = one.sizes == one.policy;
        table.push_back({describe(one.shape), time_cell(one.policy_us), time_cell(one.time_us),
                         one.policy_us == 0 ? "-" : fmt::format("{:.2f}", one.policy_us / one.time_us),
                         describe(one.shape, one.sizes) + (is_policy ? " (policy)" : "")});
    }
    return report.device_name + "\n" + aligned(table, FirstColumn::left);
}

Json as_json(const kernels::WorkgroupSizes& sizes) {
    return {{"rows", sizes.rows}, {"subgroup", sizes.subgroup}, {"workgroup", sizes.workgroup}};
}

Json tune_json(const runtime::TuneReport& report) {
    Json choices = Json::array();
    for (const kernels::TunedChoice& one : report.choices) {
        choices.push_back({{"candidates", one.candidates},
                           {"kernel", describe(one.shape)},
                           {"policy", as_json(one.policy)},
                           {"policy_us", one.policy_us == 0 ? Json() : Json(one.policy_us)},
                           {"sizes", as_json(one.sizes)},
                           {"us", one.time_us},
                           {"wrong", one.wrong}});
    }
    Json left_out = Json::array();
    for (const kernels::TunedShape& one : report.left_out)
        left_out.push_back(describe(one));
    return {{"choices", choices},
            {"device", report.device_name},
            {"interrupted", report.is_cancelled},
            {"left_out", left_out}};
}

Result<runtime::TuneReport> tune_model(const TuneOptions& options, const Environment& environment,
                                       Diagnostics& diagnostics) {
    ETNA_TRY(const auto source, store::resolve(options.model, models_folder(environment.variables),
                                               foreign_folders(environment.variables)));
    ETNA_TRY(const gguf::File file, generate::open_file(source));
    runtime::TuneRequest request{.device = options.device,
                                 .cache_folder = cache_folder(environment.variables),
                                 .precision = options.precision,
                                 .progress = {},
                                 .is_cancelled = environment.watch_interrupts(SecondInterrupt::ends_program)};
    if (request.cache_folder.empty()) {
        return Error{.kind = ErrorKind::io,
                     .message = "no cache folder is known, so that nothing can be stored",
                     .hint = "set HOME or XDG_CACHE_HOME"};
    }
    request.progress = [&](const kernels::TunedShape& shape, std::size_t number, std::size_t total) {
        diagnostics.status(fmt::format("{} of {}: {}", number + 1, total, describe(shape)));
    };
    auto report = environment.model_tuner(file, request);
    diagnostics.status({});
    return report;
}

ExitCode print(const std::string& text, const Environment& environment, Diagnostics& diagnostics) {
    Output output(environment.output);
    if (output.write(text) != OutputState::failed)
        return ExitCode::done;
    diagnostics.error(output.error());
    return ExitCode::failed;
}

ExitCode reset_tuning(const TuneOptions& options, const Environment& environment, Diagnostics& diagnostics) {
    const auto name = environment.tuning_reset(options.device, cache_folder(environment.variables));
    if (!name) {
        diagnostics.error(name.error());
        return ExitCode::failed;
    }
    diagnostics.note(fmt::format("{}: the measured sizes are forgotten", *name));
    return options.as_json ? print(dump_json_indented({{"device", *name}}) + "\n", environment, diagnostics)
                           : ExitCode::done;
}

/// Runs `etna tune`: measures a model's kernels on a device, or forgets the results. Blocking.
ExitCode tune_command(const TuneOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    const LogToDiagnostics log(diagnostics, Verbosity::quiet);
    if (options.reset)
        return reset_tuning(options, environment, diagnostics);
    const auto report = tune_model(options, environment, diagnostics);
    if (!report) {
        diagnostics.error(report.error());
        return ExitCode::failed;
    }
    for (const kernels::TunedShape& one : report->left_out)
        diagnostics.warning(
            fmt::format("{}: no candidate gives right results; the policy's sizes stay", describe(one)));
    const ExitCode printed =
        print(options.as_json ? dump_json_indented(tune_json(*report)) + "\n" : tune_text(*report),
              environment, diagnostics);
    if (printed != ExitCode::done || !report->is_cancelled)
        return printed;
    diagnostics.note("interrupted; the finished choices are stored");
    return ExitCode::interrupted;
}

} // namespace

Command tune_spec() {
    return {
        .name = "tune",
        .summary = "find the fastest workgroup sizes for a model on a device",
        .description =
            "Measures the kernels of a model on a device, at the shapes and formats of its matrices and of "
            "its attention, with several sizes of workgroups and subgroups. Results are first compared "
            "with the self-check's reference; sizes with wrong results are left out. The fastest sizes are "
            "stored in the cache folder, for this device, driver and build, and models use them from the "
            "next start on. Another choice of sizes changes the last bits of answers; runs with the same "
            "choice give the same bits. Other work on the device disturbs the measurement. Ctrl-C keeps "
            "the choices that are finished. Matrices of experts are not measured, nor are the projections "
            "of attention on devices that store keys and values in the same dispatch.",
        .positionals = tune_positionals,
        .options = tune_options,
        .examples = tune_examples,
        .run = run_validated<validate_tune, tune_command>};
}

} // namespace etna::cli

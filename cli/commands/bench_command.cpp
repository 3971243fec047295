#include "cli/bench/bench_report.hpp"
#include "cli/bench/chart.hpp"
#include "cli/bench/embedding_bench.hpp"
#include "cli/bench/kernel_report.hpp"
#include "cli/bench/model_bench.hpp"
#include "cli/bench/step_meter.hpp"
#include "cli/bench/timeline.hpp"
#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/compat.hpp"
#include "cli/options/generation_options.hpp"
#include "cli/options/option_values.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/load_display.hpp"
#include "core/base/bytes.hpp"
#include "core/base/json.hpp"
#include "core/generate/embedding.hpp"
#include "core/model/model.hpp"
#include "core/store/resolve.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>

namespace etna::cli {
namespace {

/// The validated command line of `etna bench`.
struct BenchOptions {
    std::string model;  ///< empty: kernels are measured
    std::string filter; ///< of kernels
    std::string device; ///< empty: the best device
    kernels::Precision precision = kernels::Precision::exact;
    BenchPlan plan;
    /// Options that are not given; a CPU has its own defaults for them.
    std::vector<uint32_t BenchPlan::*> unset_figures;
    std::vector<std::vector<uint32_t> BenchPlan::*> unset_lists;
    bool as_json = false;
    std::string timeline_file; ///< empty: measure rates instead
    std::string chart_file;    ///< empty: no chart
    /// Names of the given options that only a model that generates has a use for.
    std::vector<std::string_view> generation_options;
};

constexpr uint32_t bench_tokens_max = 1U << 20U;
constexpr uint32_t bench_batch_max = 256;

constexpr std::array bench_positionals = {
    Positional{.name = "MODEL",
               .description = "`demo`, a path to a .gguf file, or the name of a stored model; with --kernels "
                              "part of the kernels' names, such as linear or q4_k",
               .presence = Presence::optional,
               .completion = Completion::models}};

constexpr std::array bench_options = {
    Option{.name = "prompt-tokens",
           .short_name = 'p',
           .value = "N",
           .kind = Kind::integer,
           .range = {1, bench_tokens_max},
           .default_text = "512, or 64 on a CPU",
           .description = "tokens of each prompt, after the depth, or of each text to embed"},
    Option{.name = "generated-tokens",
           .short_name = 'n',
           .value = "N",
           .kind = Kind::integer,
           .range = {3, bench_tokens_max},
           .default_text = "128, or 16 on a CPU",
           .description = "tokens of each generation"},
    Option{.name = "batch",
           .short_name = 'b',
           .value = "LIST",
           .kind = Kind::text,
           .default_text = "1,4,16, or 1,4 on a CPU",
           .description = "numbers of sequences or texts that run together, 1 to 256, separated by commas"},
    Option{.name = "depth",
           .short_name = 'c',
           .value = "LIST",
           .kind = Kind::text,
           .default_text = "0,4096, or 0 on a CPU",
           .description =
               "tokens in the cache of each sequence before what is measured, separated by commas"},
    Option{.name = "repetitions",
           .short_name = 'r',
           .value = "N",
           .kind = Kind::integer,
           .range = {1, 1000},
           .default_text = "5, or 3 on a CPU",
           .description = "measurements of each figure, after a warm-up"},
    Option{.name = "device",
           .value = "DEVICE",
           .kind = Kind::text,
           .default_text = "the best GPU, else the CPU",
           .description = "Vulkan device, by number, UUID or part of its name",
           .category = Category::device},
    precision_option,
    Option{.name = "kernels",
           .description = "measure kernels at the shapes of real models, and no model",
           .category = Category::output},
    Option{.name = "timeline",
           .value = "FILE",
           .kind = Kind::text,
           .description =
               "write one generation step of the first batch and depth to FILE, as a Chrome trace, or as a "
               "picture if the name ends with .svg, and print its kernels",
           .category = Category::output},
    Option{.name = "chart",
           .value = "FILE",
           .kind = Kind::text,
           .description = "draw tokens per second over the depth and over the batch in FILE, as SVG",
           .category = Category::output},
    Option{.name = "json", .description = "print one JSON object", .category = Category::output},
    help_option,
    help_all_option,
};

constexpr auto bench_compat =
    joined(compat_model, std::array{CompatOption{.names = "--n-prompt", .ours = "prompt-tokens"},
                                    CompatOption{.names = "--n-gen", .ours = "generated-tokens"},
                                    CompatOption{.names = "-d, --n-depth", .ours = "depth"},
                                    CompatOption{.names = "-dev", .ours = "device"}});

constexpr std::array bench_examples = {
    Example{"etna bench demo -b 1 -c 0", "one sequence with an empty cache"},
    Example{"etna bench demo-embed -b 1,64 -p 32", "an encoder: texts one by one, and 64 together"},
    Example{"etna bench demo -b 1 -c 0 --timeline step.json", "one step for chrome://tracing"},
    Example{"etna bench model.gguf -b 1,2,4,8 -c 0,2048,8192 --chart speed.svg", "a picture of the speed"},
    Example{"etna bench --kernels q4_k", "the kernels with weights in Q4_K"},
    Example{"etna bench model.gguf -b 1,16 -c 0,8192 --json", "two batch sizes, each at two depths"},
};

using BenchClock = std::chrono::steady_clock;

/// Parses numbers separated by commas. Errors: invalid_argument, naming the option.
Result<std::vector<uint32_t>> numbers(const OptionValues& values, std::string_view option, uint32_t min,
                                      uint32_t max, std::vector<uint32_t> otherwise) {
    const auto text = values.text(option);
    if (!text)
        return otherwise;
    std::vector<uint32_t> list;
    std::string_view rest = *text;
    while (true) {
        const std::size_t comma = rest.find(',');
        const auto number = parsed<uint32_t>(rest.substr(0, comma));
        if (!number || *number < min || *number > max) {
            return invalid_argument(
                fmt::format("--{}: `{}` is not a list of numbers from {} to {}", option, *text, min, max),
                fmt::format("separate them by commas: --{} 1,4", option));
        }
        list.push_back(*number);
        if (comma == std::string_view::npos)
            return list;
        rest.remove_prefix(comma + 1);
    }
}

/// Notes which options of the plan are not given.
void note_unset(const OptionValues& values, BenchOptions& options) {
    const auto is_unset = [&](std::string_view option) { return values.texts(option).empty(); };
    if (is_unset("prompt-tokens"))
        options.unset_figures.push_back(&BenchPlan::prompt_tokens);
    if (is_unset("generated-tokens"))
        options.unset_figures.push_back(&BenchPlan::generated_tokens);
    if (is_unset("repetitions"))
        options.unset_figures.push_back(&BenchPlan::repetitions);
    if (is_unset("batch"))
        options.unset_lists.push_back(&BenchPlan::batches);
    if (is_unset("depth"))
        options.unset_lists.push_back(&BenchPlan::depths);
}

/// Replaces the unset figures if the chosen device is the CPU, on which those for a GPU would take long.
void adapt_to_device(BenchOptions& options, const Environment& environment) {
    const auto reports = environment.device_lister(options.device, cache_folder(environment.variables));
    if (!reports) // loading reports the error
        return;
    const auto chosen = std::ranges::find(*reports, true, &runtime::DeviceReport::is_chosen);
    if (chosen == reports->end() || chosen->profile.type != vk::DeviceType::cpu)
        return;
    const BenchPlan for_cpu = cpu_bench_plan();
    for (const auto figure : options.unset_figures)
        options.plan.*figure = for_cpu.*figure;
    for (const auto list : options.unset_lists)
        options.plan.*list = for_cpu.*list;
}

/// Errors: invalid_argument.
Result<BenchOptions> validate_bench(const Command& command, const TypedArguments& arguments) {
    const OptionValues values(command, arguments);
    const std::string named = arguments.positionals.empty() ? "" : arguments.positionals[0];
    ETNA_TRY(const bool with_kernels, values.flag("kernels"));
    if (named.empty() && !with_kernels)
        return invalid_argument("no model given", "try `etna bench demo`, or `etna bench --help`");
    BenchOptions options;
    (with_kernels ? options.filter : options.model) = named;
    options.device = values.text("device").value_or("");
    ETNA_TRY(options.precision, read_precision(values));
    BenchPlan& plan = options.plan;
    ETNA_TRY(const auto prompt_tokens, values.integer("prompt-tokens"));
    ETNA_TRY(const auto generated_tokens, values.integer("generated-tokens"));
    ETNA_TRY(const auto repetitions, values.integer("repetitions"));
    plan.prompt_tokens = prompt_tokens.value_or(plan.prompt_tokens);
    plan.generated_tokens = generated_tokens.value_or(plan.generated_tokens);
    plan.repetitions = repetitions.value_or(plan.repetitions);
    ETNA_TRY(plan.batches, numbers(values, "batch", 1, bench_batch_max, plan.batches));
    ETNA_TRY(plan.depths, numbers(values, "depth", 0, bench_tokens_max, plan.depths));
    ETNA_TRY(options.as_json, values.flag("json"));
    options.timeline_file = values.text("timeline").value_or("");
    options.chart_file = values.text("chart").value_or("");
    note_unset(values, options);
    for (const std::string_view option : {"depth", "timeline", "chart"}) {
        if (values.text(option))
            options.generation_options.push_back(option);
    }
    if (generated_tokens)
        options.generation_options.push_back("generated-tokens");
    if (with_kernels && !options.chart_file.empty())
        return invalid_argument("--chart and --kernels exclude each other", "--chart needs a model");
    if (!options.timeline_file.empty() && !options.chart_file.empty())
        return invalid_argument("--timeline and --chart exclude each other",
                                "--timeline draws one step, --chart the speed");
    if (with_kernels && !options.timeline_file.empty())
        return invalid_argument("--timeline and --kernels exclude each other", "--timeline needs a model");
    if (options.as_json && !options.timeline_file.empty())
        return invalid_argument("--timeline and --json exclude each other", "the file of --timeline is JSON");
    return options;
}

uint64_t host_peak_bytes() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return static_cast<uint64_t>(usage.ru_maxrss) * kibibyte;
}

/// A model's file, before anything is on the device.
struct BenchFile {
    BenchClock::time_point start; ///< of loading
    gguf::File file;
    bool is_encoder = false; ///< it encodes texts and generates none
};

Result<BenchFile> open_bench(const BenchOptions& options, const Environment& environment) {
    ETNA_TRY(const auto source, store::resolve(options.model, models_folder(environment.variables),
                                               foreign_folders(environment.variables)));
    const auto start = BenchClock::now();
    ETNA_TRY(gguf::File file, generate::open_file(source));
    ETNA_TRY(const bool is_encoder, model::is_encoder(file));
    return BenchFile{.start = start, .file = std::move(file), .is_encoder = is_encoder};
}

/// A model on its device, with the time that loading took.
struct LoadedBench {
    runtime::LoadedExecutor loaded;
    double load_ms = 0;
};

Result<LoadedBench> load_bench(const BenchOptions& options, const BenchFile& opened,
                               const Environment& environment, Diagnostics& diagnostics) {
    const BenchPlan& plan = options.plan;
    runtime::ExecutorOptions executor;
    executor.context_tokens = opened.is_encoder ? 0 : plan.context_tokens(); // 0: as `etna embed` loads it
    executor.sequences_max = *std::max_element(plan.batches.begin(), plan.batches.end());
    executor.device = options.device;
    executor.precision = options.precision;
    executor.cache_folder = cache_folder(environment.variables);
    executor.has_draft_head = false; // nothing is drafted
    executor.timestamps = !options.timeline_file.empty();
    LoadDisplay display(diagnostics);
    executor.progress = [&](const runtime::LoadProgress& progress) { display.show(progress); };
    LoadedBench bench;
    ETNA_TRY(bench.loaded, environment.executor_factory(opened.file, executor));
    bench.load_ms = std::chrono::duration<double, std::milli>(BenchClock::now() - opened.start).count();
    return bench;
}

/// Sets what is known before the measurement.
void begin_report(const BenchOptions& options, const LoadedBench& bench, MeasuredModel& report) {
    report.model = options.model;
    report.device = bench.loaded.device_name;
    report.repetitions = options.plan.repetitions;
    report.load_ms = bench.load_ms;
}

void add_peaks(const runtime::LoadedExecutor& loaded, MeasuredModel& report) {
    if (loaded.memory)
        report.device_peak_bytes = loaded.memory().peak_bytes;
    report.host_peak_bytes = host_peak_bytes();
}

/// Measures the device's matrix rate; without one, warns. Blocking.
void add_matrix_rate(const runtime::LoadedExecutor& loaded, Diagnostics& diagnostics, MeasuredModel& report) {
    if (!loaded.matrix_rate)
        return;
    if (const auto rate = loaded.matrix_rate()) {
        report.matrix_flop_s = *rate;
    } else {
        diagnostics.warning(fmt::format("no matrix rate: {}", rate.error().message));
    }
}

std::string duration_of(double seconds) {
    constexpr double minute_s = 60;
    return seconds < 2 * minute_s ? fmt::format("{:.0f} s", seconds)
                                  : fmt::format("{:.0f} min", seconds / minute_s);
}

/// Says on a terminal at most how long the measurement takes, once the first repetition of the first row has
/// shown it.
class BenchEstimate {
public:
    BenchEstimate(const BenchPlan& plan, Diagnostics& diagnostics)
        : plan_(&plan), diagnostics_(&diagnostics) {}

    /// Call before each repetition of each row.
    void note(uint32_t repetition) {
        constexpr double shown_from_s = 10;
        const auto now = BenchClock::now();
        if (repetition == 1 && !start_)
            start_ = now;
        if (repetition != 2 || is_done_)
            return;
        is_done_ = true;
        const double repetition_s = std::chrono::duration<double>(now - *start_).count();
        const double seconds = seconds_at_most(*plan_, repetition_s);
        if (diagnostics_->shows_status() && seconds >= shown_from_s) {
            diagnostics_->note(fmt::format("{} rows of {} repetitions take at most {}",
                                           plan_->batches.size() * plan_->depths.size(), plan_->repetitions,
                                           duration_of(seconds)));
        }
    }

private:
    const BenchPlan* plan_;
    Diagnostics* diagnostics_;
    std::optional<BenchClock::time_point> start_;
    bool is_done_ = false;
};

/// Shows a row on a terminal as soon as it is measured; the tables follow at the end.
void report_row(const BenchRow& row, Diagnostics& diagnostics) {
    if (!diagnostics.shows_status())
        return;
    diagnostics.line(fmt::format("batch {}, depth {}: prompts {:.1f} tok/s, generation {:.1f} tok/s",
                                 row.batch, row.depth, row.prompt_tok_s.median, row.generation_tok_s.median));
}

/// Measures every batch and depth; those that do not fit the memory become gaps of the report. Blocking.
Status measure_rows(engine::Engine& engine, const std::shared_ptr<StepMeter>& meter, const BenchPlan& plan,
                    const model::WeightReads& weights, Diagnostics& diagnostics, BenchReport& report) {
    ModelBench bench(engine, meter, plan, weights);
    BenchEstimate estimate(plan, diagnostics);
    for (const uint32_t depth : plan.depths) {
        for (const uint32_t batch : plan.batches) {
            const auto row = bench.measure(batch, depth, [&](uint32_t repetition) {
                estimate.note(repetition);
                diagnostics.status(
                    fmt::format("batch {}, depth {}: {} of {}", batch, depth, repetition, plan.repetitions));
            });
            if (row) {
                report.rows.push_back(*row);
                report_row(*row, diagnostics);
            } else if (row.error().kind == ErrorKind::out_of_memory && !engine.has_failed()) {
                report.gaps.push_back({.batch = batch, .depth = depth, .reason = row.error().message});
            } else {
                return row.error();
            }
        }
    }
    return {};
}

Result<BenchReport> bench_model(const BenchOptions& options, const BenchFile& opened,
                                const Environment& environment, Diagnostics& diagnostics) {
    ETNA_TRY(LoadedBench bench, load_bench(options, opened, environment, diagnostics));
    runtime::LoadedExecutor& loaded = bench.loaded;
    BenchReport report;
    begin_report(options, bench, report);
    report.prompt_tokens = options.plan.prompt_tokens;
    report.generated_tokens = options.plan.generated_tokens;
    const auto meter = std::make_shared<StepMeter>();
    ETNA_TRY(const auto engine, engine::Engine::create(metered(std::move(loaded.executor), meter)));
    const Status measured =
        measure_rows(*engine, meter, options.plan, loaded.weight_reads, diagnostics, report);
    diagnostics.status({});
    ETNA_CHECK(measured);
    add_peaks(loaded, report);
    if (loaded.copy_rate) { // after the peaks, which its buffers would raise
        ETNA_TRY(report.copy_bytes_s, loaded.copy_rate());
    }
    add_matrix_rate(loaded, diagnostics, report);
    return report;
}

/// Errors: invalid_argument, naming the first option that an encoder has no use for.
Status check_encoder_options(const BenchOptions& options) {
    if (options.generation_options.empty())
        return {};
    return invalid_argument(fmt::format("--{}: {} embeds texts and generates none",
                                        options.generation_options.front(), options.model),
                            "leave it out; --batch and --prompt-tokens set the texts");
}

void report_row(const EmbeddingRow& row, Diagnostics& diagnostics) {
    if (!diagnostics.shows_status())
        return;
    diagnostics.line(fmt::format("batch {}: {:.1f} texts/s, {:.1f} tok/s", row.batch, row.texts_s.median,
                                 row.tok_s.median));
}

/// Measures every batch of texts; those that do not fit the memory become gaps of the report. Blocking.
Status measure_texts(engine::Engine& engine, const EmbeddingPlan& plan, const std::vector<uint32_t>& batches,
                     Diagnostics& diagnostics, EmbeddingReport& report) {
    EmbeddingBench bench(engine, plan);
    for (const uint32_t batch : batches) {
        const auto row = bench.measure(batch, [&](uint32_t repetition) {
            diagnostics.status(fmt::format("batch {}: {} of {}", batch, repetition, plan.repetitions));
        });
        if (row) {
            report.rows.push_back(*row);
            report_row(*row, diagnostics);
        } else if (row.error().kind == ErrorKind::out_of_memory && !engine.has_failed()) {
            report.gaps.push_back({.batch = batch, .reason = row.error().message});
        } else {
            return row.error();
        }
    }
    return {};
}

Result<EmbeddingReport> bench_encoder(const BenchOptions& options, const BenchFile& opened,
                                      const Environment& environment, Diagnostics& diagnostics) {
    ETNA_CHECK(check_encoder_options(options));
    ETNA_TRY(LoadedBench bench, load_bench(options, opened, environment, diagnostics));
    runtime::LoadedExecutor& loaded = bench.loaded;
    const engine::Limits limits = loaded.executor->limits();
    const uint32_t requested = options.plan.prompt_tokens;
    EmbeddingPlan plan{.text_tokens = std::min(requested, generate::embedding_tokens_max(limits)),
                       .repetitions = options.plan.repetitions,
                       .row_weights = loaded.weight_reads.row_weights};
    ETNA_TRY(plan.pooling, generate::read_pooling(opened.file, generate::Pooling::mean));
    ETNA_TRY(plan.head, generate::EmbeddingHead::read(opened.file, plan.pooling, limits.width));
    if (plan.text_tokens < requested) {
        diagnostics.note(fmt::format("texts have {} tokens, the model's maximum, not {} (--prompt-tokens)",
                                     plan.text_tokens, requested));
    }
    EmbeddingReport report;
    begin_report(options, bench, report);
    report.text_tokens = plan.text_tokens;
    ETNA_TRY(const auto engine, engine::Engine::create(std::move(loaded.executor)));
    const Status measured = measure_texts(*engine, plan, options.plan.batches, diagnostics, report);
    diagnostics.status({});
    ETNA_CHECK(measured);
    add_peaks(loaded, report);
    add_matrix_rate(loaded, diagnostics, report);
    return report;
}

Error cannot_write(const std::string& path) {
    return {.kind = ErrorKind::io,
            .message = fmt::format("cannot write {}", path),
            .hint = "check that its folder exists and has room"};
}

/// Errors: io.
Status write_output(const std::string& path, const std::string& content) {
    std::ofstream file(path, std::ios::binary);
    file << content;
    return file.flush() ? Status() : cannot_write(path);
}

/// Checks before the measurements, which take minutes, that a file can be written. Errors: io.
Status check_output(const std::string& path) {
    return path.empty() || std::ofstream(path, std::ios::app) ? Status() : cannot_write(path);
}

/// Generates with timestamps, and writes the last step to the file. Returns the text for stdout. Blocking.
Result<std::string> bench_timeline(const BenchOptions& options, const BenchFile& opened,
                                   const Environment& environment, Diagnostics& diagnostics) {
    ETNA_TRY(LoadedBench bench, load_bench(options, opened, environment, diagnostics));
    const auto engine = engine::Engine::create(std::move(bench.loaded.executor));
    if (!engine)
        return engine.error();
    ModelBench model(**engine, std::make_shared<StepMeter>(), options.plan, bench.loaded.weight_reads);
    ETNA_CHECK(model.generate(options.plan.batches.front(), options.plan.depths.front()));
    const std::vector<vk::Timing> timings =
        bench.loaded.timings ? bench.loaded.timings() : std::vector<vk::Timing>();
    if (timings.empty()) {
        return Error{.kind = ErrorKind::unsupported,
                     .message = fmt::format("{} has no timestamps", bench.loaded.device_name),
                     .hint = "choose another --device"};
    }
    const bool is_picture = options.timeline_file.ends_with(".svg");
    const std::string title = fmt::format("{} on {}", options.model, bench.loaded.device_name);
    ETNA_CHECK(write_output(options.timeline_file, is_picture ? timeline_svg(timings, title)
                                                              : dump_json(chrome_trace(timings)) + "\n"));
    diagnostics.note(
        fmt::format("one step of {} dispatches is in {}; {}", timings.size(), options.timeline_file,
                    is_picture ? "a web browser shows it" : "chrome://tracing and ui.perfetto.dev show it"));
    return fmt::format("{} on {}\n{}", options.model, bench.loaded.device_name, totals_text(timings));
}

Result<std::string> bench_kernels(const BenchOptions& options, const Environment& environment,
                                  Diagnostics& diagnostics) {
    runtime::KernelBenchOptions bench{.device = options.device,
                                      .filter = options.filter,
                                      .cache_folder = cache_folder(environment.variables),
                                      .precision = options.precision,
                                      .progress = {}};
    bench.progress = [&](const std::string& name, std::size_t number, std::size_t total) {
        diagnostics.status(fmt::format("{} of {}: {}", number + 1, total, name));
    };
    const auto timings = environment.kernel_bench(bench);
    diagnostics.status({});
    if (!timings)
        return timings.error();
    return options.as_json ? dump_json_indented(kernels_json(*timings)) + "\n" : kernels_text(*timings);
}

/// Runs the measurements that the options select, and formats them; sets `has_gaps` if a row has none.
/// Blocking.
Result<std::string> bench_output(const BenchOptions& options, const Environment& environment,
                                 Diagnostics& diagnostics, bool& has_gaps) {
    if (options.model.empty())
        return bench_kernels(options, environment, diagnostics);
    ETNA_CHECK(check_output(options.timeline_file));
    ETNA_CHECK(check_output(options.chart_file));
    ETNA_TRY(const BenchFile opened, open_bench(options, environment));
    if (opened.is_encoder) {
        ETNA_TRY(const EmbeddingReport report, bench_encoder(options, opened, environment, diagnostics));
        for (const BenchGap& gap : report.gaps)
            diagnostics.warning(fmt::format("batch {} is not measured: {}", gap.batch, gap.reason));
        has_gaps = !report.gaps.empty();
        return options.as_json ? dump_json_indented(bench_json(report)) + "\n" : bench_text(report);
    }
    if (!options.timeline_file.empty())
        return bench_timeline(options, opened, environment, diagnostics);
    ETNA_TRY(const BenchReport report, bench_model(options, opened, environment, diagnostics));
    for (const BenchGap& gap : report.gaps) {
        diagnostics.warning(
            fmt::format("batch {} at depth {} is not measured: {}", gap.batch, gap.depth, gap.reason));
    }
    has_gaps = !report.gaps.empty();
    if (!options.chart_file.empty()) {
        ETNA_CHECK(write_output(options.chart_file, chart_svg(report)));
        diagnostics.note(fmt::format("the chart is in {}; a web browser shows it", options.chart_file));
    }
    return options.as_json ? dump_json_indented(bench_json(report)) + "\n" : bench_text(report);
}

/// Runs `etna bench`: measures a model on a device. Blocking.
ExitCode bench_command(BenchOptions options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    const bool has_unset = !options.unset_figures.empty() || !options.unset_lists.empty();
    if (!options.model.empty() && has_unset)
        adapt_to_device(options, environment);
    const LogToDiagnostics log(diagnostics, Verbosity::quiet);
    bool has_gaps = false;
    const auto text = bench_output(options, environment, diagnostics, has_gaps);
    if (!text) {
        diagnostics.error(text.error());
        return ExitCode::failed;
    }
    Output output(environment.output);
    output.write(*text);
    if (output.state() == OutputState::failed) {
        diagnostics.error(output.error());
        return ExitCode::failed;
    }
    return has_gaps ? ExitCode::failed : ExitCode::done;
}

} // namespace

Command bench_spec() {
    return {.name = "bench",
            .summary = "measure the speed of a model, or of kernels, on a device",
            .description =
                "Measures a model with made-up prompts, for each number of sequences that run together and "
                "each depth of their caches: tokens per second of prompts and of generation, the time to the "
                "first token, the weights that generation reads per second, and what a generated token costs "
                "the host. A warm-up is left out; the figures are medians.\n\n"
                "An encoder, which embeds texts and generates none, has other figures: texts and tokens per "
                "second, and the milliseconds from the submission of a batch of texts to its last "
                "embedding, the latency with -b 1. -p is the tokens of each text, at most as many as the "
                "model takes; tokenizing is not measured. -n, -c and --timeline are refused. The rows of "
                "--json have them as texts_s, tok_s and batch_ms, each with its median and extremes, and "
                "flop_s and of_matrix_rate.\n\n"
                "With --kernels no model is needed: each kernel is timed on its own, over more data than the "
                "device's caches hold, and its bytes and sums per second are printed.\n\n"
                "TFLOP/s of prompts and texts count two operations for each weight of the layers and each "
                "token, of a "
                "mixture for the experts that a token chooses, and neither the head nor attention. They are "
                "compared with the matrix rate, which a kernel measures that multiplies and adds in "
                "registers alone: on the device's matrix units in f16 with sums in f32, or on its "
                "arithmetic units in f32 if they are faster. No kernel that reads memory reaches it.\n\n"
                "Weights read per second count each weight once a step, and are compared with the bytes that "
                "the fastest copies on the same device read and write. A mixture of experts has the figure "
                "for one "
                "sequence only. Host time is CPU time of the engine's thread. Recorded are the submits "
                "whose commands no earlier one had; the others run commands again. Idle are those that "
                "found the device with nothing to do: it waited for the host. Peak memory of a device that "
                "is the CPU is part of the host's. Loading includes the check of the kernels when the cache "
                "folder does not know its result yet. A batch and depth that do not fit the memory have no "
                "figures, and the exit code is then 1.",
            .positionals = bench_positionals,
            .options = bench_options,
            .examples = bench_examples,
            .compat = bench_compat,
            .run = run_validated<validate_bench, bench_command>};
}

} // namespace etna::cli

#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/options/generation_options.hpp"
#include "cli/options/hub_options.hpp"
#include "cli/options/option_values.hpp"
#include "cli/options/search_options.hpp"
#include "cli/pull_model.hpp"
#include "cli/served_models.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "core/base/bytes.hpp"
#include "core/store/resolve.hpp"
#include "server/app/endpoints.hpp"
#include "server/app/open_persistence.hpp"
#include "server/app/router.hpp"
#include "server/batch/merge.hpp"
#include "server/batch/runner.hpp"
#include "server/faces/responses/response_stream.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

namespace batch = server::batch;

enum class BatchAct : uint8_t { run, merge };

/// The validated command line of `etna batch`.
struct BatchOptions {
    BatchAct act = BatchAct::run;
    std::filesystem::path input; ///< empty with BatchAct::merge: the input recorded in the folder
    std::filesystem::path folder;
    ModelOptions model; ///< empty name: the lines name their models
    batch::Shard shard;
    uint32_t retries = 2;
    std::size_t line_bytes_max = batch::default_line_bytes_max;
    std::chrono::seconds grace{30};
    grammar::JsonSpacing json_spacing = grammar::JsonSpacing::single;
    generate::StopScope stop_scope = generate::StopScope::content;
    std::optional<generate::ReasoningLimit> reasoning_limit = {};
};

constexpr uint32_t answers_at_once_max = 256;
constexpr double retries_max = 1000;
constexpr std::string_view merge_word = "merge";

constexpr std::array batch_positionals = {
    Positional{.name = "INPUT",
               .description =
                   "a file of requests in OpenAI's Batch format, one JSON object on each line, with "
                   "custom_id, method (POST), url (/v1/chat/completions, /v1/completions, "
                   "/v1/responses, /v1/embeddings) and body; or `merge`: join the shards of FOLDER",
               .completion = Completion::files},
    Positional{.name = "FOLDER",
               .description = "with `merge`: the folder of the outputs, as -o",
               .presence = Presence::optional,
               .completion = Completion::folders},
};

constexpr std::array batch_rows = {
    Option{.name = "output",
           .short_name = 'o',
           .value = "DIR",
           .kind = Kind::text,
           .description = "folder of the outputs, results-I-of-N.jsonl and errors-I-of-N.jsonl; a run "
                          "continues those that are there",
           .brief = "folder of the outputs; a run continues those that are there"},
    Option{.name = "model",
           .short_name = 'm',
           .value = "MODEL",
           .kind = Kind::text,
           .default_text = "the stored model that each body names",
           .description = "answer all lines with this model, as for `etna run`, whatever they name",
           .brief = "answer all lines with this model, whatever they name"},
    Option{.name = "shard",
           .value = "I/N",
           .kind = Kind::text,
           .default_text = "0/1, or a task's position in its job array",
           .description = "answer every Nth line, from line I + 1 on; I is from 0 to N - 1",
           .brief = "answer every Nth line, from line I + 1 on"},
    Option{.name = "retries",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, retries_max},
           .default_text = "2",
           .description = "times that a line is tried again after a failure of the model or the device",
           .brief = "times that a line is tried again"},
    Option{.name = "grace",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {0, day_s},
           .default_text = "30",
           .description = "time that running lines may take after SIGTERM; the rest is left for the next run",
           .brief = "time that running lines may take after SIGTERM"},
    Option{.name = "line-max",
           .value = "SIZE",
           .kind = Kind::size,
           .range = {kibibyte, batch::line_bytes_limit},
           .default_text = "32M",
           .description = "maximum size of a line; a longer one fails"},
    Option{.name = "parallel",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, answers_at_once_max},
           .default_text = "256",
           .description = "maximum answers that a model generates at a time; fewer if memory is short"},
    Option{.name = "array-id",
           .value = "ID",
           .kind = Kind::integer,
           .range = {0, uint32_max},
           .description = "without --shard: the task of a job array that this process is",
           .second_environment_name = "SLURM_ARRAY_TASK_ID"},
    Option{.name = "array-count",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, batch::shards_max},
           .description = "tasks of the job array",
           .second_environment_name = "SLURM_ARRAY_TASK_COUNT"},
    Option{.name = "array-min",
           .value = "ID",
           .kind = Kind::integer,
           .range = {0, uint32_max},
           .default_text = "0",
           .description = "lowest id of the job array",
           .second_environment_name = "SLURM_ARRAY_TASK_MIN"},
    Option{.name = "array-step",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, uint32_max},
           .default_text = "1",
           .description = "distance between the ids of the job array",
           .second_environment_name = "SLURM_ARRAY_TASK_STEP"},
};

constexpr auto batch_table = in_category(Category::output, batch_rows);
constexpr std::array batch_answer_options = {chat_template_option, json_whitespace_option,
                                             stop_in_reasoning_option, reasoning_budget_option,
                                             reasoning_budget_message_option};
constexpr std::array batch_help = {help_option, help_all_option};

constexpr std::array batch_codes = {
    ExitCodeText{
        65, "a batch is complete, and some of its lines failed: their errors are in errors-I-of-N.jsonl"},
    ExitCodeText{
        75, "a batch is not complete: stopped by a signal, or lines are missing; run the same command again"},
};

constexpr std::array batch_examples = {
    Example{"etna batch in.jsonl -o out --model demo", "answer a file with one model"},
    Example{"etna batch in.jsonl -o out", "with the models that the lines name"},
    Example{"etna batch in.jsonl -o out --shard 3/16", "a sixteenth of the lines"},
    Example{"etna batch merge out", "one file in the order of the input"},
    Example{"sbatch --array=0-15 scripts/slurm/etna-batch.sbatch MODEL in.jsonl out", "on a cluster"},
};

Result<batch::Shard> read_shard(const OptionValues& values) {
    if (const auto given = values.text("shard")) {
        const auto shard = batch::parse_shard(*given);
        if (!shard) {
            return invalid_argument(fmt::format("--shard: `{}` is not a shard", *given),
                                    "give I/N with I from 0 to N - 1, such as 0/4");
        }
        return *shard;
    }
    ETNA_TRY(const auto id, values.integer("array-id"));
    ETNA_TRY(const auto count, values.integer("array-count"));
    ETNA_TRY(const auto min, values.integer("array-min"));
    ETNA_TRY(const auto step, values.integer("array-step"));
    if (!id && !count)
        return batch::Shard();
    if (!id || !count) {
        return invalid_argument("--array-id and --array-count need each other", "give both, or --shard I/N");
    }
    return batch::shard_of_task(
        {.id = *id, .count = *count, .min = min.value_or(0), .step = step.value_or(1)});
}

/// Reads the action and its files from the arguments.
Status read_files(const OptionValues& values, const std::vector<std::string>& positionals,
                  BatchOptions& options) {
    options.folder = values.text("output").value_or("");
    if (positionals.empty() || positionals[0].empty())
        return invalid_argument("no input given", "try `etna batch in.jsonl -o out --model demo`");
    const bool has_second = positionals.size() > 1;
    if (positionals[0] == merge_word) {
        options.act = BatchAct::merge;
        // `merge DIR`, or `merge IN.jsonl -o DIR`.
        if (has_second)
            (options.folder.empty() ? options.folder : options.input) = positionals[1];
    } else {
        options.input = positionals[0];
        if (has_second) {
            return invalid_argument(fmt::format("`{}` is one argument too many", positionals[1]),
                                    "name the folder of the outputs with -o");
        }
    }
    if (options.folder.empty())
        return invalid_argument("no folder for the outputs given", "name one with -o DIR");
    return {};
}

/// Errors: invalid_argument.
Result<BatchOptions> validate_batch(const Command& command, const TypedArguments& arguments) {
    const OptionValues values(command, arguments);
    BatchOptions options;
    ETNA_CHECK(read_files(values, arguments.positionals, options));
    ETNA_TRY(options.model, read_model(values, values.text("model").value_or("")));
    ETNA_TRY(options.shard, read_shard(values));
    ETNA_TRY(const auto retries, values.integer("retries"));
    options.retries = retries.value_or(options.retries);
    ETNA_TRY(options.json_spacing, read_json_spacing(values));
    ETNA_TRY(options.stop_scope, read_stop_scope(values));
    ETNA_TRY(options.reasoning_limit, read_reasoning_limit(values));
    ETNA_TRY(const auto grace_s, values.integer("grace"));
    options.grace = grace_s ? std::chrono::seconds(*grace_s) : options.grace;
    ETNA_TRY(const auto line_bytes, values.size_bytes("line-max"));
    options.line_bytes_max = line_bytes.value_or(options.line_bytes_max);
    ETNA_TRY(const auto parallel, values.integer("parallel"));
    options.model.executor.sequences_max = parallel.value_or(answers_at_once_max);
    options.model.executor.queue_max = std::max(options.model.executor.queue_max, batch::lines_at_once_max);
    return options;
}

server::ServiceOptions service_options(const BatchOptions& options) {
    server::ServiceOptions service;
    service.accepts_any_model_name = !options.model.model.empty();
    service.answers_at_once = options.model.executor.sequences_max;
    service.limits.json_spacing = options.json_spacing;
    service.limits.stop_scope = options.stop_scope;
    if (options.reasoning_limit) {
        service.limits.reasoning_budget = options.reasoning_limit->tokens_max;
        service.limits.reasoning_budget_message = options.reasoning_limit->message;
    }
    return service;
}

/// A server without sockets: its endpoints, and the models that lines can name.
class LineService {
public:
    /// Borrows `environment`. `persistence` stores nothing.
    LineService(const BatchOptions& options, server::Models::Options models, const Environment& environment,
                std::unique_ptr<server::Persistence> persistence)
        : persistence_(std::move(persistence)),
          models_(std::move(models),
                  [&environment, model = options.model](const store::ModelSource& source,
                                                        uint64_t memory_bytes_max) {
                      ModelOptions bounded = model;
                      bounded.executor.memory_bytes_max = memory_bytes_max;
                      return load_served(source, bounded, environment);
                  }),
          service_{{.options = service_options(options), .models = models_, .metrics = metrics_}},
          router_(service_, server::all_routes(service_.options)) {
        service_.persistence = persistence_.get();
        service_.running_responses = &running_responses_;
        service_.state = server::ServiceState::ready;
    }

    /// Thread-safe.
    server::HttpReply answer(const server::HttpRequest& request) { return router_.answer(request); }

    /// Stops running answers. Thread-safe.
    void abandon() { service_.is_aborting = true; }

    server::Models& models() { return models_; }

private:
    std::unique_ptr<server::Persistence> persistence_;
    server::responses::RunningResponses running_responses_;
    server::Metrics metrics_;
    server::Models models_;
    server::Service service_;
    server::Router router_;
};

/// The models that a batch can use: that of --model, else those on this machine.
Result<server::Models::Options> models_of_batch(const BatchOptions& options, const Environment& environment,
                                                Diagnostics& diagnostics) {
    server::Models::Options models;
    if (options.model.model.empty()) {
        models.finder = [&environment](std::string_view name) {
            return store::resolve_name(name, models_folder(environment.variables),
                                       foreign_folders(environment.variables));
        };
        return models;
    }
    ETNA_TRY(auto source, find_model(options.model.model, options.model.hub, environment, diagnostics));
    models.named.push_back({.name = options.model.model, .source = std::move(source)});
    return models;
}

/// "2 h 05 min", "5 min 07 s", "7 s".
std::string time_text(double seconds) {
    constexpr uint64_t per_minute = 60;
    constexpr uint64_t per_hour = 3600;
    constexpr double shown_max_s = 1e9;
    const auto whole = static_cast<uint64_t>(std::min(seconds, shown_max_s));
    if (whole >= per_hour)
        return fmt::format("{} h {:02} min", whole / per_hour, whole % per_hour / per_minute);
    if (whole >= per_minute)
        return fmt::format("{} min {:02} s", whole / per_minute, whole % per_minute);
    return fmt::format("{} s", whole);
}

/// The status line on a terminal, with rates since the start.
class BatchProgress {
public:
    /// Borrows `diagnostics`. `lines`: lines of the shard. `done`: lines with a record before this run.
    BatchProgress(Diagnostics& diagnostics, uint64_t lines, uint64_t done)
        : diagnostics_(&diagnostics), lines_(lines), done_(done) {}
    BatchProgress(const BatchProgress&) = delete;
    BatchProgress& operator=(const BatchProgress&) = delete;
    ~BatchProgress() { diagnostics_->status({}); }

    void show(const batch::Progress& progress) {
        constexpr double shown_after_s = 1;
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
        const uint64_t lines = progress.results + progress.errors;
        const uint64_t tokens = progress.prompt_tokens + progress.completion_tokens;
        if (seconds < shown_after_s)
            return;
        std::string left;
        if (lines > 0 && done_ + lines <= lines_) {
            const auto rest = static_cast<double>(lines_ - done_ - lines);
            left = fmt::format(", {} left", time_text(rest * seconds / static_cast<double>(lines)));
        }
        diagnostics_->status(fmt::format("{} of {} lines, {} failed, {:.0f} tokens/s ({:.0f} generated){}",
                                         done_ + lines, lines_, progress.errors,
                                         static_cast<double>(tokens) / seconds,
                                         static_cast<double>(progress.completion_tokens) / seconds, left));
    }

private:
    Diagnostics* diagnostics_;
    uint64_t lines_, done_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Decides after a signal whether the batch continues, finishes running lines, or abandons them.
class BatchStop {
public:
    BatchStop(const Environment& environment, std::chrono::seconds grace)
        : grace_(grace), end_signal_(environment.watch_end_signals()),
          is_interrupted_(environment.watch_interrupts(SecondInterrupt::ends_program)) {}

    batch::StopMode now() {
        if (!is_interrupted_() && end_signal_() == 0)
            return batch::StopMode::none;
        const auto time = std::chrono::steady_clock::now();
        ends_ = ends_.value_or(time + grace_);
        return time < *ends_ ? batch::StopMode::finish : batch::StopMode::abandon;
    }

    /// Whether Ctrl-C, rather than another signal, ended the batch.
    [[nodiscard]] bool is_interrupted() const { return ends_.has_value() && end_signal_() == 0; }

private:
    std::chrono::seconds grace_;
    EndSignal end_signal_;
    CancelPoll is_interrupted_;
    std::optional<std::chrono::steady_clock::time_point> ends_; ///< end of the grace period, after a signal
};

/// Reports the outcome of a run, and returns its exit code.
ExitCode report_batch(const BatchOptions& options, const batch::ResultLog& log, uint64_t lines,
                      batch::Ending ending, const BatchStop& stop, Diagnostics& diagnostics) {
    const uint64_t results = log.records(batch::Output::results);
    const uint64_t errors = log.records(batch::Output::errors);
    diagnostics.note(
        fmt::format("{} of {} lines answered, {} failed; results in {}", results, lines, errors,
                    batch::output_path(options.folder, batch::Output::results, options.shard).string()));
    if (errors > 0) {
        diagnostics.note(
            fmt::format("errors in {}",
                        batch::output_path(options.folder, batch::Output::errors, options.shard).string()));
    }
    if (ending == batch::Ending::incomplete) {
        diagnostics.note("not complete; run the same command again");
        return stop.is_interrupted() ? ExitCode::interrupted : ExitCode::incomplete;
    }
    return errors > 0 ? ExitCode::lines_failed : ExitCode::done;
}

/// Answers the lines of a shard. Blocking.
Result<ExitCode> run_batch(const BatchOptions& options, const Environment& environment,
                           Diagnostics& diagnostics) {
    BatchStop stop(environment, options.grace);
    ETNA_TRY(const auto summary, batch::summarize_input(options.input, options.shard));
    std::error_code ignored; // ResultLog::open() reports the failure
    std::filesystem::create_directories(options.folder, ignored);
    ETNA_CHECK(batch::check_input(options.folder, options.shard, options.input, summary));
    std::vector<std::string> warnings;
    ETNA_TRY(const auto log, batch::ResultLog::open(options.folder, options.shard, warnings));
    for (const std::string& warning : warnings)
        diagnostics.warning(warning);
    if (options.shard.count > 1) { // may come from a job array's variables, which can surprise the user
        diagnostics.line(fmt::format("shard {}/{}: {} of the {} lines", options.shard.index,
                                     options.shard.count, summary.lines_of_shard, summary.lines));
    }
    ETNA_TRY(auto models, models_of_batch(options, environment, diagnostics));
    ETNA_TRY(auto persistence, server::open_persistence({.is_enabled = false}, [](std::string_view) {}));
    LineService service(options, std::move(models), environment, std::move(persistence));
    const uint64_t done = log->records(batch::Output::results) + log->records(batch::Output::errors);
    if (!options.model.model.empty() && done < summary.lines_of_shard) { // a failure here is no line's fault
        ETNA_CHECK(service.models().acquire(options.model.model,
                                            [&] { return stop.now() != batch::StopMode::none; }));
    }
    batch::Runner runner({.input = options.input,
                          .shard = options.shard,
                          .line_bytes_max = options.line_bytes_max,
                          .lines_at_once = batch::lines_at_once_for(options.model.executor.sequences_max),
                          .retries = options.retries},
                         *log, [&](const server::HttpRequest& request) { return service.answer(request); });
    BatchProgress progress(diagnostics, summary.lines_of_shard, done);
    ETNA_TRY(const batch::Ending ending, runner.run([&] {
        progress.show(runner.progress());
        const batch::StopMode now = stop.now();
        if (now == batch::StopMode::abandon)
            service.abandon();
        return now;
    }));
    return report_batch(options, *log, summary.lines_of_shard, ending, stop, diagnostics);
}

/// Merges the shards of a folder. Blocking.
Result<ExitCode> merge_batch(const BatchOptions& options, const Environment& environment,
                             Diagnostics& diagnostics) {
    ETNA_TRY(const auto report, batch::merge(options.folder, options.input));
    if (report.missing > 0) {
        diagnostics.error(
            {ErrorKind::not_found,
             fmt::format("{} of {} lines are missing, of the shards {}; the first are the lines {}",
                         report.missing, report.lines, fmt::join(report.missing_names, ", "),
                         fmt::join(report.missing_lines, ", ")),
             "run these shards again, and merge when they are complete"});
        return ExitCode::incomplete;
    }
    diagnostics.note(fmt::format("{} lines answered, {} failed", report.results, report.errors));
    Output output(environment.output);
    if (output.write(fmt::format("{}\n{}\n", report.results_file.string(), report.errors_file.string())) ==
        OutputState::failed)
        return output.error();
    return report.errors > 0 ? ExitCode::lines_failed : ExitCode::done;
}

/// Runs `etna batch`. Blocking.
ExitCode batch_command(const BatchOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    const LogToDiagnostics log(diagnostics, Verbosity::quiet);
    const auto code = options.act == BatchAct::run ? run_batch(options, environment, diagnostics)
                                                   : merge_batch(options, environment, diagnostics);
    if (code)
        return *code;
    if (code.error().kind == ErrorKind::cancelled)
        return ExitCode::incomplete;
    diagnostics.error(code.error());
    return ExitCode::failed;
}

} // namespace

Command batch_spec() {
    static const std::vector<Option> options =
        joined({batch_table, batch_answer_options, hub_options(), device_options(),
                speculation_options(DraftsBy::server), batch_help});
    return {
        .name = "batch",
        .summary = "answer a file of requests, and continue after a kill",
        .description =
            "Answers the lines of a file in OpenAI's Batch format with the endpoints of `etna serve`, "
            "without "
            "a server: as many at once as the model's engine takes. Each answer is appended to "
            "results-I-of-N.jsonl of the output folder when it is complete, and each line that fails to "
            "errors-I-of-N.jsonl, with its number. A line that is not JSON, repeats a custom_id, names an "
            "unknown url or asks for a stream fails alone.\n\n"
            "The same command continues a run that was killed, at any byte: lines with a record are not "
            "answered again, and a torn record is. An answer survives a kill at once, and a loss of power "
            "after a second. An input that has changed is refused. To answer failed lines again, remove "
            "errors-I-of-N.jsonl.\n\n"
            "SIGTERM or SIGHUP lets running lines finish within --grace; exit code 75 says that the same "
            "command "
            "continues. Shards run on any machines that share the folder: by --shard, or in a job array of "
            "Slurm by its variables. `etna batch merge DIR` joins them into results.jsonl and "
            "errors.jsonl, in the order of the input, and names the lines that are missing. A task of the "
            "array that is stopped requeues itself, and Slurm requeues one whose node dies. If lines are "
            "missing when the array has ended, submit it again with the same command: it continues.",
        .positionals = batch_positionals,
        .options = options,
        .examples = batch_examples,
        .exit_codes = batch_codes,
        .run = run_validated<validate_batch, batch_command>};
}

} // namespace etna::cli

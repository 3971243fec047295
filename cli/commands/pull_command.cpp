#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/hub_options.hpp"
#include "cli/options/option_values.hpp"
#include "cli/pull_model.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "core/store/model_store.hpp"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr double connections_max = 16;
constexpr double retries_max = 100;

/// The validated command line of `etna pull`.
struct PullCommandOptions {
    std::string model;
    PullSettings settings;
    DownloadConsent consent = DownloadConsent::ask; ///< at a terminal
};

constexpr std::array pull_positionals = {
    Positional{.name = "NAME",
               .description =
                   "hf.co/USER/REPO[:QUANT][@REVISION] of the Hugging Face hub, where QUANT is a "
                   "quantisation or a .gguf file of the repository; the https address of a .gguf file; or "
                   "a short name, such as qwen3:0.6b",
               .brief = "hf.co/USER/REPO[:QUANT][@REVISION], an address, or a short name"},
};

constexpr std::array pull_rows = {
    Option{.name = "yes",
           .short_name = 'y',
           .description = "download without asking at a terminal; only the command line sets it",
           .settable = Settable::command_line},
    Option{.name = "connections",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, connections_max},
           .default_text = "4",
           .description = "fetch this many parts of a file at once"},
    Option{.name = "retries",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, retries_max},
           .default_text = "5",
           .description =
               "try again this often, with growing waits, when a server is busy or a connection breaks"},
    help_option,
    help_all_option,
};

constexpr auto pull_table = in_category(Category::models, pull_rows);

constexpr std::array pull_examples = {
    Example{"etna pull qwen3:0.6b", "a known model, from its publisher's repository"},
    Example{"etna pull hf.co/Qwen/Qwen3-4B-GGUF:Q8_0", "a repository of the hub, and a quantisation"},
    Example{"HF_TOKEN=hf_... etna pull gemma3:4b-qat", "a model whose terms you accepted at the hub"},
};

/// Errors: invalid_argument.
Result<PullCommandOptions> validate_pull(const Command& command, const TypedArguments& arguments) {
    if (arguments.positionals.empty())
        return invalid_argument("no model given", "try `etna pull qwen3:0.6b`, or `etna pull --help`");
    PullCommandOptions options;
    options.model = arguments.positionals[0];
    const OptionValues values(command, arguments);
    ETNA_TRY(options.settings.hub, read_hub(values));
    ETNA_TRY(const auto connections, values.integer("connections"));
    options.settings.connections = connections.value_or(options.settings.connections);
    ETNA_TRY(const auto retries, values.integer("retries"));
    options.settings.retries.retries_max = retries.value_or(options.settings.retries.retries_max);
    ETNA_TRY(const bool agrees, values.flag("yes"));
    options.consent = agrees ? DownloadConsent::given : DownloadConsent::ask;
    return options;
}

/// Runs `etna pull`: fetches a model and prints its path. Blocking.
ExitCode pull_command(const PullCommandOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    PullSettings settings = options.settings;
    const bool asks = options.consent == DownloadConsent::ask && environment.is_interactive();
    settings.consent = asks ? DownloadConsent::ask : DownloadConsent::given;
    const EndSignal end_signal = environment.watch_end_signals();
    const auto manifest = pull_model(options.model, settings, environment, diagnostics);
    if (!manifest) {
        diagnostics.error(manifest.error());
        return manifest.error().kind == ErrorKind::cancelled ? exit_code_for_signal(end_signal())
                                                             : ExitCode::failed;
    }
    Output output(environment.output);
    const store::ModelStore models(models_folder(environment.variables));
    if (output.write(models.path_of(manifest->files.front()).string() + "\n") == OutputState::failed) {
        diagnostics.error(output.error());
        return ExitCode::failed;
    }
    diagnostics.note(
        fmt::format("stored as {}; run it with `etna run {} \"Hello\"`", manifest->name, options.model));
    return ExitCode::done;
}

} // namespace

Command pull_spec() {
    static const std::vector<Option> options = joined({hub_options(), pull_table});
    return {
        .name = "pull",
        .summary = "download a model",
        .description =
            "Downloads a model in GGUF into $ETNA_MODELS, or $XDG_DATA_HOME/etna/models, and prints the path "
            "of its first file. Without a quantisation it takes Q4_K_M, else the nearest that the repository "
            "has. The "
            "parts of a split model come together.\n\n"
            "A file gets its name when its sha256 is checked; nothing unfinished is ever run. After a break "
            "of "
            "any kind, the same command resumes. Two processes fetch a file once.\n\n"
            "HF_TOKEN is the token for gated and private repositories; it is sent to the hub's host only. "
            "HTTPS_PROXY, ALL_PROXY and NO_PROXY name proxies, as for curl; SSL_CERT_FILE names the "
            "certificates "
            "to trust.",
        .positionals = pull_positionals,
        .options = options,
        .examples = pull_examples,
        .run = run_validated<validate_pull, pull_command>};
}

} // namespace etna::cli

#include "cli/pull_model.hpp"

#include "cli/terminal/printable.hpp"
#include "cli/terminal/progress_bar.hpp"
#include "core/base/bytes.hpp"
#include "core/base/log.hpp"
#include "core/store/missing_model.hpp"
#include "core/store/model_name.hpp"
#include "core/store/model_store.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

std::string duration_text(double seconds) {
    constexpr double shown_max_s = 100 * 3600.0 - 1;
    const auto whole = static_cast<uint64_t>(std::clamp(seconds, 0.0, shown_max_s));
    const uint64_t minutes = whole / 60;
    return minutes < 60 ? fmt::format("{}:{:02}", minutes, whole % 60)
                        : fmt::format("{}:{:02}:{:02}", minutes / 60, minutes % 60, whole % 60);
}

/// Progress of a download: a bar on a terminal, a line now and then elsewhere. Removed by the destructor.
class DownloadDisplay {
public:
    /// Borrows all.
    DownloadDisplay(const store::PullPlan& plan, bool is_terminal, Diagnostics& diagnostics)
        : plan_(&plan), diagnostics_(&diagnostics),
          between_(is_terminal ? std::chrono::milliseconds(100) : std::chrono::seconds(5)),
          is_terminal_(is_terminal) {}
    DownloadDisplay(const DownloadDisplay&) = delete;
    DownloadDisplay& operator=(const DownloadDisplay&) = delete;
    ~DownloadDisplay() { diagnostics_->status({}); }

    void show(const store::PullProgress& progress);

private:
    using Clock = std::chrono::steady_clock;

    [[nodiscard]] std::string text(const store::PullProgress& progress, Clock::time_point now);

    const store::PullPlan* plan_;
    Diagnostics* diagnostics_;
    std::chrono::milliseconds between_;
    bool is_terminal_;
    Clock::time_point drawn_ = Clock::now();
    Clock::time_point start_ = {};
    std::size_t file_ = SIZE_MAX; ///< of the rate
    uint64_t start_bytes_ = 0;
};

std::string DownloadDisplay::text(const store::PullProgress& progress, Clock::time_point now) {
    const uint64_t done = progress.download.done_bytes;
    const uint64_t total = progress.download.total_bytes;
    const double part =
        total == 0 ? 0 : std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
    const std::string which =
        plan_->files.size() == 1 ? "" : fmt::format(" part {} of {}", progress.file + 1, plan_->files.size());
    if (progress.download.phase == store::DownloadPhase::waiting)
        return "waiting for another process that fetches the same file";
    if (progress.download.phase == store::DownloadPhase::checking)
        return fmt::format("checking{} {:.0f} %", which, part * 100);
    const std::chrono::duration<double> elapsed = now - start_;
    const double rate =
        static_cast<double>(done - std::min(done, start_bytes_)) / std::max(elapsed.count(), 0.001);
    std::string detail = fmt::format("{:.0f} % of {}, {}/s", part * 100, size_text(total),
                                     size_text(static_cast<uint64_t>(rate)));
    if (rate > 1)
        detail += fmt::format(", {} left", duration_text(static_cast<double>(total - done) / rate));
    const std::string label = fmt::format("fetching{}", which);
    return is_terminal_ ? progress_bar(label, part, detail, diagnostics_->status_columns())
                        : fmt::format("{} {}", label, detail);
}

void DownloadDisplay::show(const store::PullProgress& progress) {
    const auto now = Clock::now();
    if (progress.file != file_ && progress.download.phase == store::DownloadPhase::fetching) {
        file_ = progress.file;
        start_ = now;
        start_bytes_ = progress.download.done_bytes;
    }
    if (now - drawn_ < between_)
        return;
    drawn_ = now;
    if (is_terminal_) {
        diagnostics_->status(text(progress, now));
    } else {
        diagnostics_->line(text(progress, now));
    }
}

/// Reads the token, too, from the variable of the hub's own programs.
Result<store::HttpSettings> http_settings(const HubOptions& hub, const Variables& variables) {
    store::HttpSettings http = network_settings(variables);
    http.token = first_variable(variables, {"HF_TOKEN"});
    http.token_origin = store::origin_of(hub.url);
    const bool is_token =
        std::all_of(http.token.begin(), http.token.end(), [](char c) { return c > ' ' && c < 0x7f; });
    if (!is_token) {
        return invalid_argument("HF_TOKEN has a space, a control character or a letter outside ASCII",
                                "copy the token again, without its line's end");
    }
    return http;
}

Result<store::PullOptions> pull_options(const PullSettings& settings, const Environment& environment,
                                        CancelPoll is_stopped) {
    store::PullOptions options;
    options.hub = settings.hub.url;
    options.folder = models_folder(environment.variables);
    if (options.folder.empty()) {
        return invalid_argument(
            "there is no folder of models: neither HOME nor XDG_DATA_HOME is an absolute path",
            "name one in ETNA_MODELS");
    }
    ETNA_TRY(options.download.http, http_settings(settings.hub, environment.variables));
    options.download.retries = settings.retries;
    options.download.connections = settings.connections;
    options.download.is_stopped = std::move(is_stopped);
    return options;
}

void report_plan(const store::PullPlan& plan, Diagnostics& diagnostics) {
    if (!plan.note.empty())
        diagnostics.note(plan.note);
    if (!plan.projectors.empty()) {
        diagnostics.note(fmt::format("the repository also has an image projector, which is not fetched: {}",
                                     fmt::join(plan.projectors, ", ")));
    }
    if (!plan.drafts.empty()) {
        diagnostics.note(fmt::format("the repository also has a draft model for --draft: {}",
                                     fmt::join(plan.drafts, ", ")));
    }
}

/// Asks before a download. Errors: cancelled (by a signal), not_found (the user does not agree).
Status ask_to_download(const store::PullPlan& plan, const Environment& environment,
                       const CancelPoll& is_stopped) {
    const std::string question = fmt::format("download {}, {} ({} free)? [y]es, [N]o: ", printable(plan.name),
                                             size_text(plan.missing_bytes), size_text(plan.free_bytes));
    const TerminalAnswer answer =
        environment.ask_at_terminal ? environment.ask_at_terminal(question, is_stopped) : TerminalAnswer();
    if (answer.is_yes())
        return {};
    const bool was_interrupted = answer.kind == TerminalAnswer::Kind::stopped;
    return Error{was_interrupted ? ErrorKind::cancelled : ErrorKind::not_found,
                 fmt::format("{} was not downloaded", plan.name),
                 {}};
}

Status check_space(const store::PullPlan& plan, const std::filesystem::path& folder) {
    if (plan.needed_bytes <= plan.free_bytes)
        return {};
    return Error{
        ErrorKind::io,
        fmt::format("{} needs {}, and the disk of {} has {} free", plan.name, size_text(plan.needed_bytes),
                    folder.string(), size_text(plan.free_bytes)),
        "free some space, name a folder on another disk in ETNA_MODELS, or choose a smaller quantisation"};
}

Error offline_error(const std::string& name, const store::ModelName& parsed_name,
                    const Environment& environment) {
    Error error = store::not_fetched(name);
    error.message += ", and --offline is set";
    const std::string by_hand = store::by_hand_hint(parsed_name, models_folder(environment.variables));
    error.hint += by_hand.empty() ? "" : "; " + by_hand;
    return error;
}

} // namespace

Result<store::RemoteModel> open_remote_model(const std::string& name, const HubOptions& hub,
                                             const Environment& environment) {
    ETNA_TRY(const auto parsed_name, store::parse_remote_name(name));
    if (hub.network == Network::unused)
        return offline_error(name, parsed_name, environment);
    const CancelPoll is_stopped = environment.watch_interrupts
                                      ? environment.watch_interrupts(SecondInterrupt::ends_program)
                                      : CancelPoll();
    ETNA_TRY(const auto options, pull_options({.hub = hub}, environment, is_stopped));
    return store::open_remote(parsed_name, options);
}

Result<store::Manifest> pull_model(const std::string& name, const PullSettings& settings,
                                   const Environment& environment, Diagnostics& diagnostics) {
    ETNA_TRY(const auto parsed_name, store::parse_remote_name(name));
    if (settings.hub.network == Network::unused)
        return offline_error(name, parsed_name, environment);
    const CancelPoll is_stopped = environment.watch_interrupts(SecondInterrupt::ends_program);
    ETNA_TRY(const auto options, pull_options(settings, environment, is_stopped));
    ETNA_TRY(const auto plan, store::plan_pull(parsed_name, options));
    report_plan(plan, diagnostics);
    ETNA_CHECK(check_space(plan, options.folder));
    if (settings.consent == DownloadConsent::ask && plan.missing_bytes > 0)
        ETNA_CHECK(ask_to_download(plan, environment, is_stopped));
    if (plan.missing_bytes > 0)
        diagnostics.line(fmt::format("fetching {}, {}", plan.name, size_text(plan.bytes)));
    DownloadDisplay display(plan, environment.error_is_terminal, diagnostics);
    return store::pull(plan, options, [&](const store::PullProgress& progress) { display.show(progress); });
}

Result<store::Manifest> pull_for_request(const std::string& name, const HubOptions& hub,
                                         const Environment& environment, CancelPoll is_stopped,
                                         const server::StoreAccess::PullReport& report) {
    ETNA_TRY(const auto parsed_name, store::parse_model_name(name));
    if (std::holds_alternative<store::UrlModel>(parsed_name))
        return invalid_argument("a request names no address: use hf.co/USER/REPO or a short name");
    if (hub.network == Network::unused)
        return Error{ErrorKind::not_found, fmt::format("{} is not stored, and --offline is set", name), {}};
    const PullSettings settings = {.hub = hub, .consent = DownloadConsent::given};
    ETNA_TRY(const auto options, pull_options(settings, environment, std::move(is_stopped)));
    ETNA_TRY(const auto plan, store::plan_pull(parsed_name, options));
    ETNA_CHECK(check_space(plan, options.folder));
    log(LogLevel::info, fmt::format("fetching {}, {}", plan.name, size_text(plan.missing_bytes)));
    ETNA_TRY(auto manifest, store::pull(plan, options, [&](const store::PullProgress& progress) {
                 if (report)
                     report(plan, progress);
             }));
    log(LogLevel::info, fmt::format("fetched {}", plan.name));
    return manifest;
}

Result<store::ModelSource> find_model(const std::string& name, const HubOptions& options,
                                      const Environment& environment, Diagnostics& diagnostics) {
    const std::filesystem::path folder = models_folder(environment.variables);
    const store::ModelStore models(folder);
    auto source = store::resolve(name, folder, foreign_folders(environment.variables));
    if (const auto manifest = models.find(name); source && manifest)
        models.note_use(*manifest);
    if (source || source.error().kind != ErrorKind::not_found)
        return source;
    const auto parsed_name = store::parse_remote_name(name);
    const bool is_remote = parsed_name && !std::holds_alternative<store::LocalModel>(*parsed_name);
    const bool can_ask =
        environment.is_interactive() && environment.ask_at_terminal && environment.watch_interrupts;
    const bool is_offline = options.network == Network::unused; // then pull_model() only names the file
    if (!is_remote || !(can_ask || is_offline))
        return source;
    PullSettings settings;
    settings.hub = options;
    if (const auto pulled = pull_model(name, settings, environment, diagnostics); !pulled)
        return pulled.error();
    return store::resolve(name, folder);
}

} // namespace etna::cli

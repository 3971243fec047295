#include "cli/child_process.hpp"
#include "cli/commands/commands.hpp"
#include "cli/environment.hpp"
#include "cli/load_model.hpp"
#include "cli/options/option_values.hpp"
#include "cli/options/serve_options.hpp"
#include "cli/pull_model.hpp"
#include "cli/running_servers.hpp"
#include "cli/served_models.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/printable.hpp"
#include "core/base/json.hpp"
#include "core/base/log.hpp"
#include "core/base/utf8.hpp"
#include "core/generate/description.hpp"
#include "core/generate/model.hpp"
#include "core/gguf/split.hpp"
#include "core/runtime/devices.hpp"
#include "core/store/embedded.hpp"
#include "core/store/model_name.hpp"
#include "server/app/endpoints.hpp"
#include "server/app/server.hpp"
#include "server/kv_events/publisher.hpp"
#include "server/models/models.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

namespace etna::cli {
namespace {

/// Returns the model that a request named: one of this machine, or with `pulled` one of the hub, whose source
/// has no bytes before it is fetched. Errors: those of store::resolve_name(); invalid_argument (an address:
/// clients choose no host that this machine connects to).
Result<store::ModelSource> find_requested(std::string_view name, RequestedModels requested,
                                          const HubOptions& hub, const Environment& environment) {
    auto source = store::resolve_name(name, models_folder(environment.variables),
                                      foreign_folders(environment.variables));
    if (source || source.error().kind != ErrorKind::not_found || requested != RequestedModels::pulled ||
        hub.network == Network::unused)
        return source;
    ETNA_TRY(const auto remote, store::parse_model_name(name));
    if (std::holds_alternative<store::UrlModel>(remote))
        return invalid_argument("a request names no address: use hf.co/USER/REPO or a short name");
    const auto* model = std::get_if<store::HubModel>(&remote);
    if (model == nullptr)
        return source;
    return store::ModelSource{.name = to_string(*model), .path = {}, .bytes = {}};
}

/// Returns the model's files; fetches those of a model of the hub that is not stored. Blocking.
Result<store::ModelSource> fetched_source(const store::ModelSource& source, const HubOptions& hub,
                                          const Environment& environment, const CancelPoll& is_interrupted) {
    const std::filesystem::path folder = models_folder(environment.variables);
    auto stored = store::resolve_name(source.name, folder);
    if (stored || stored.error().kind != ErrorKind::not_found)
        return stored;
    const auto pulled = pull_for_request(source.name, hub, environment, is_interrupted);
    if (!pulled && pulled.error().kind == ErrorKind::cancelled)
        return Error{ErrorKind::io, "the server is ending, and stopped the download"};
    if (!pulled)
        return pulled.error();
    return store::resolve_name(source.name, folder);
}

/// Checks that the models named on the command line and the draft model can be used. Models of a folder may
/// change and are checked on use. Errors: those of inspect_served().
Status check_models(const std::vector<server::NamedSource>& named, const ModelOptions& options,
                    const Environment& environment) {
    for (const server::NamedSource& model : named) {
        const auto facts = inspect_served(model.source, options);
        if (!facts)
            return facts.error();
    }
    ETNA_TRY(const auto draft, find_draft(options, environment));
    if (draft) {
        const auto summary = generate::inspect(*draft, {});
        return summary ? Status() : summary.error();
    }
    return {};
}

/// Checks the chosen template. It is valid if a model accepts it (`is_accepted`), because it may be a variant
/// in that model's file. Errors: not_found, and those of its text.
Status check_template(const ModelOptions& options, bool is_accepted) {
    if (is_accepted || options.chat_template.empty())
        return {};
    ETNA_TRY(const auto demo, store::resolve(store::demo_name, {}));
    const auto facts = inspect_served(demo, options);
    return facts ? Status() : facts.error();
}

std::string address_at(const ServeOptions& options, const std::string& host, int port) {
    const bool is_encrypted = !options.server.connection.tls_certificate.empty();
    const bool is_ipv6 = host.find(':') != std::string::npos;
    return fmt::format("{}://{}{}{}:{}", is_encrypted ? "https" : "http", is_ipv6 ? "[" : "", host,
                       is_ipv6 ? "]" : "", port);
}

/// Returns the device that models are loaded onto; null: none.
const runtime::DeviceReport* device_in_use(const runtime::DeviceReports& devices) {
    const auto chosen = std::ranges::find_if(devices, &runtime::DeviceReport::is_chosen);
    return chosen == devices.end() ? nullptr : &*chosen;
}

/// Borrows both.
server::DeviceReporter device_reporter(const ServeOptions& options, const Environment& environment) {
    return [&] {
        auto reports =
            environment.device_lister(options.model.executor.device, cache_folder(environment.variables));
        return reports ? std::move(*reports) : runtime::DeviceReports();
    };
}

/// Returns the line about the chosen device.
std::string device_line(const runtime::DeviceReports& devices) {
    const runtime::DeviceReport* const chosen = device_in_use(devices);
    if (chosen == nullptr)
        return {};
    const bool is_cpu = chosen->profile.type == vk::DeviceType::cpu;
    return fmt::format("device: {}{}", chosen->profile.name,
                       is_cpu ? ", a CPU: a GPU is many times as fast; see `etna devices`" : "");
}

std::vector<std::string> model_lines(const std::vector<server::ModelListing>& models) {
    constexpr std::size_t shown_max = 20;
    std::vector<std::string> lines;
    for (const server::ModelListing& model : models) {
        if (lines.size() == shown_max) {
            lines.push_back(
                fmt::format("models: {} more; GET /v1/models lists them", models.size() - shown_max));
            break;
        }
        const uint32_t context = model.facts.context_tokens;
        lines.push_back(
            fmt::format("model: {}{}", model.name,
                        context == 0 ? "" : fmt::format(", with a context of up to {} tokens", context)));
    }
    return lines;
}

std::string store_line(const server::Persistence& persistence) {
    if (!persistence.store)
        return "responses: not stored";
    if (persistence.file.empty())
        return "responses: stored in memory until the server ends";
    return fmt::format("responses: stored in {}", persistence.file.string());
}

/// Returns the name of this server in the topics of events: the given one, else the host's name and the port.
std::string pod_name(const KvEventsOptions& options, int port) {
    if (!options.pod.empty())
        return options.pod;
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0)
        return fmt::format("localhost:{}", port);
    return fmt::format("{}:{}", host.data(), port);
}

/// Returns the line about the published events.
std::string kv_events_line(const server::kv_events::Publisher& publisher, const std::string& pod) {
    const std::string& replay = publisher.replay_endpoint();
    return fmt::format("kv-events: the tokens of all prompts go to {} as kv@{}@MODEL{}", publisher.endpoint(),
                       pod, replay.empty() ? "" : fmt::format("; replay at {}", replay));
}

/// Returns the file's path for processes in other folders; empty for none.
std::filesystem::path absolute_path(const std::filesystem::path& file) {
    std::error_code ignored;
    return file.empty() ? file : std::filesystem::absolute(file, ignored);
}

/// Returns the server's address for clients on this machine.
std::string local_address(const ServeOptions& options, int port) {
    std::string host = options.server.connection.host;
    if (host == "0.0.0.0")
        host = "127.0.0.1";
    if (host == "::")
        host = "::1";
    return address_at(options, host, port);
}

std::string curl_line(const ServeOptions& options, int port, const std::string& model, bool asks_for_key) {
    const server::ConnectionOptions& connection = options.server.connection;
    Json body = Json::object();
    if (!model.empty())
        body["model"] = model;
    body["messages"] = Json::array({Json({{"role", "user"}, {"content", "Hello!"}})});
    return fmt::format("try: curl{} {}{}{} -d {}", connection.tls_certificate.empty() ? "" : " -k",
                       local_address(options, port), options.server.service.chat_path,
                       asks_for_key ? " -H 'Authorization: Bearer KEY'" : "", shell_quoted(dump_json(body)));
}

/// Returns the address of the web page for browsers on this machine.
std::string page_address(const ServeOptions& options, int port) {
    return local_address(options, port) + "/";
}

/// Returns the lines: the device, with a remark if it is a CPU; the models, with context lengths as far as
/// their files give them; where responses are stored; and a sample command for the first model.
std::vector<std::string> startup_lines(const ServeOptions& options, const runtime::DeviceReports& devices,
                                       server::Models& models, const server::Server& server) {
    const auto listed = models.list();
    std::vector<std::string> lines = {device_line(devices)};
    for (const std::string& line : model_lines(listed))
        lines.push_back(line);
    lines.push_back(store_line(server.persistence()));
    if (options.server.second_port)
        lines.push_back(fmt::format("ollama: at {}, too; clients may pull, copy and delete stored models",
                                    local_address(options, *options.server.second_port)));
    if (options.server.service.has_page)
        lines.push_back(fmt::format("page: {}", page_address(options, server.port())));
    lines.push_back(curl_line(options, server.port(), listed.size() > 1 ? models.default_name() : "",
                              server.asks_for_key()));
    return lines;
}

/// Returns the server's address for clients: "http://127.0.0.1:8080".
std::string address_of(const ServeOptions& options, int port) {
    return address_at(options, options.server.connection.host, port);
}

/// Returns a model's name for clients.
std::string served_name(const std::string& model) {
    const std::filesystem::path path(model);
    return gguf::has_gguf_extension(model) ? path.stem().string() : path.filename().string();
}

/// Validates a name and adds it to `taken`.
Status check_name(const std::string& name, std::set<std::string>& taken) {
    if (valid_utf8_prefix(name) != name.size()) {
        return invalid_argument(
            fmt::format("the name {} is not UTF-8, so clients could not request it", repaired_utf8(name)),
            "give another with --alias");
    }
    if (!taken.insert(name).second) {
        return invalid_argument(fmt::format("two models are named `{}`", name),
                                "give names with --alias, one for each model in their order");
    }
    return {};
}

Result<server::Models::Options> models_of(const ServeOptions& options, const Environment& environment,
                                          Diagnostics& diagnostics) {
    server::Models::Options models = {.named = {},
                                      .folder = options.models_folder,
                                      .loaded_max = options.models_max,
                                      .memory_bytes_max = options.models_bytes_max,
                                      .idle_max = options.sleep_after};
    for (const std::string& name : options.pinned)
        models.pinned.insert(server::normalized_name(name));
    if (!options.model.draft.empty())
        ETNA_CHECK(find_model(options.model.draft, options.model.hub, environment, diagnostics));
    std::set<std::string> taken;
    for (std::size_t i = 0; i < options.models.size(); ++i) {
        ETNA_TRY(auto source, find_model(options.models[i], options.model.hub, environment, diagnostics));
        const std::vector<std::string> names =
            i < options.names.size() ? options.names[i] : std::vector{served_name(options.models[i])};
        for (const std::string& name : names)
            ETNA_CHECK(check_name(name, taken));
        models.named.push_back({.name = names.front(),
                                .source = std::move(source),
                                .aliases = {names.begin() + 1, names.end()}});
    }
    return models;
}

/// Raises the descriptor limit to the system's maximum, because every connection is a descriptor.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Without --store, uses the default file, or memory if its folder is unknown.
void choose_store_file(server::PersistenceOptions& persistence, const Environment& environment) {
    if (!persistence.in_memory)
        return;
    persistence.store.file = responses_file(environment.variables);
    if (persistence.store.file.empty())
        persistence.store = *persistence.in_memory;
}

/// Makes the allocator return large blocks to the system immediately. By default it caches them once it has
/// freed one, up to 32 MiB each, separately for every serving thread.
void return_large_blocks_to_system() {
#ifdef __GLIBC__
    constexpr int large_bytes = 1024 * 1024;
    ::mallopt(M_MMAP_THRESHOLD, large_bytes);
#endif
}

/// The server's log on standard error. During its lifetime core's messages go there too; those below warning
/// level only if verbose. Thread-safe.
class ServerLog {
public:
    /// Borrows `diagnostics`.
    ServerLog(Diagnostics& diagnostics, server::LogFormat format, Verbosity verbosity)
        : diagnostics_(&diagnostics), format_(format) {
        set_log_sink([this, verbosity](LogLevel level, std::string_view message) {
            if (level == LogLevel::warning) {
                warn(message);
            } else if (verbosity == Verbosity::verbose) {
                write(server::event_line(format_, message));
            }
        });
    }
    ServerLog(const ServerLog&) = delete;
    ServerLog& operator=(const ServerLog&) = delete;
    ~ServerLog() { set_log_sink({}); }

    /// Writes a line of server/observe/log_line.hpp.
    void write(std::string_view line) {
        const std::scoped_lock lock(mutex_);
        diagnostics_->line(line);
    }

    void event(std::string_view message) { write(server::event_line(format_, message)); }

    void warn(std::string_view message) { write(server::warning_line(format_, message)); }

    /// Writes a start-up line: without a time, unless the log format is JSON.
    void startup(std::string_view line) {
        write(format_ == server::LogFormat::json ? server::event_line(format_, line) : std::string(line));
    }

private:
    Diagnostics* diagnostics_; ///< borrowed
    server::LogFormat format_;
    std::mutex mutex_;
};

/// Opens the web page in the user's browser; logs its address if there is no program for that.
void open_page(const std::string& address, const Environment& environment, ServerLog& log) {
    constexpr std::string_view opener = "xdg-open";
    const std::filesystem::path executable = find_executable(opener, environment.variables);
    Status opened = Error{ErrorKind::not_found, fmt::format("{} is not installed", opener)};
    if (!executable.empty()) {
        opened = ChildProcess::start_detached(
            {.executable = executable, .arguments = {address}, .variables = environment.variables});
    }
    if (!opened)
        log.startup(fmt::format("page: no browser was opened: {}; open {}", opened.error().message, address));
}

/// Opens the publisher of the caches' events, and lets it observe every model that `models` will load; null
/// if they are not published. `models` must not outlive it. Errors: those of Publisher::open().
Result<std::unique_ptr<server::kv_events::Publisher>>
open_kv_events(const ServeOptions& options, ServerLog& log, server::Models::Options& models) {
    std::unique_ptr<server::kv_events::Publisher> publisher;
    if (!options.kv_events)
        return publisher;
    ETNA_TRY(publisher, server::kv_events::Publisher::open(
                            options.kv_events->publisher, [&log](std::string_view line) { log.warn(line); }));
    models.on_load = [opened = publisher.get()](const std::string& name, const generate::Model& model) {
        model.engine().observe_cache(opened->observe(name, model.engine().limits().page_tokens));
    };
    return publisher;
}

/// Loads the pinned models. Blocking. Errors: invalid_argument (not served; or they leave no room for the
/// others), cancelled, and those of loading.
Status load_pinned(const ServeOptions& options, server::Models& models, const CancelPoll& is_interrupted) {
    std::set<std::string> names;
    for (const std::string& name : options.pinned) {
        const auto found = models.find_or_add(name);
        if (!found) {
            return invalid_argument(
                fmt::format("--pin: {}", found.error().message),
                "name a model that is served: a MODEL, its --alias, or a file of --models-dir");
        }
        names.insert(found->name);
    }
    const bool has_others = models.list().size() > names.size() || !options.models_folder.empty() ||
                            options.requested != RequestedModels::served;
    if (options.models_max > 0 && names.size() + (has_others ? 1 : 0) > options.models_max) {
        return invalid_argument(
            fmt::format("--pin keeps {} models in memory, and --models-max {} leaves no room for others",
                        names.size(), options.models_max),
            "raise --models-max, or pin fewer models");
    }
    for (const std::string& name : names)
        ETNA_CHECK(models.acquire(name, is_interrupted));
    return {};
}

/// Inspects the models' files and loads the pinned ones. Blocking. Errors: those of check_template() and
/// load_pinned(); cancelled.
Status prepare_models(const ServeOptions& options, server::Models& models, ServerLog& log,
                      const CancelPoll& is_interrupted) {
    models.inspect(is_interrupted);
    if (is_interrupted())
        return Error{ErrorKind::cancelled, "the server was stopped before it was ready"};
    const bool has_model = !models.list().empty();
    ETNA_CHECK(check_template(options.model, has_model));
    if (!has_model) {
        log.warn(fmt::format("{} has no usable .gguf file: requests have no model until one appears",
                             options.models_folder.string()));
    }
    return load_pinned(options, models, is_interrupted);
}

Status check_folder(const std::filesystem::path& folder) {
    std::error_code failure;
    if (folder.empty() || std::filesystem::is_directory(folder, failure))
        return {};
    return invalid_argument(fmt::format("--models-dir: {} is not a folder{}", folder.string(),
                                        failure ? ": " + failure.message() : ""),
                            "create it, or name an existing folder");
}

/// Serves HTTP until it is interrupted or terminated. Blocking.
Status serve(const ServeOptions& options, const Environment& environment, ServerLog& log,
             Diagnostics& diagnostics) {
    Output output(environment.output);
    if (options.shows_routes) {
        output.write(server::route_lines(server::all_routes(options.server.service)));
        return output.state() == OutputState::failed ? Status(output.error()) : Status();
    }
    server::ServerOptions server_options = options.server;
    choose_store_file(server_options.persistence, environment);
    if (server_options.traces)
        server_options.traces->http = network_settings(environment.variables);
    ETNA_CHECK(check_folder(options.models_folder));
    ETNA_TRY(auto listed, models_of(options, environment, diagnostics));
    ETNA_CHECK(check_models(listed.named, options.model, environment));
    ETNA_TRY(const auto devices,
             environment.device_lister(options.model.executor.device, cache_folder(environment.variables)));
    raise_descriptor_limit();
    return_large_blocks_to_system();
    if (options.requested != RequestedModels::served) {
        listed.finder = [&](std::string_view name) {
            return find_requested(name, options.requested, options.model.hub, environment);
        };
    }
    ETNA_TRY(const auto kv_events, open_kv_events(options, log, listed));
    server_options.kv_events = kv_events.get();
    CancelPoll is_interrupted; // set before the first request
    const auto report_load = [&log](std::string_view line) { log.event(line); };
    const auto fractions = std::make_shared<server::LoadFractions>();
    const auto loader_with = [&](ModelOptions model) -> server::Models::Loader {
        return [&, model](const store::ModelSource& source,
                          uint64_t memory_bytes_max) -> Result<server::Models::Handle> {
            ModelOptions bounded = model;
            bounded.executor.memory_bytes_max = memory_bytes_max;
            store::ModelSource fetched = source;
            if (is_remote(source)) {
                ETNA_TRY(fetched, fetched_source(source, model.hub, environment, is_interrupted));
            }
            auto loaded = load_served(fetched, bounded, environment, report_load,
                                      [&](double fraction) { fractions->set(source.name, fraction); });
            fractions->remove(source.name);
            return loaded;
        };
    };
    listed.device_loader = loader_with(unconfined(options.model));
    server::Models models(std::move(listed), loader_with(options.model),
                          [&](const store::ModelSource& source) {
                              return inspect_served(source, options.model, device_in_use(devices));
                          });
    server_options.service.load_fractions = fractions;
    server_options.service.device_reporter = device_reporter(options, environment);
    if (options.grants_store) {
        server_options.service.store = {
            .folder = models_folder(environment.variables),
            .pull = [&](const std::string& name, const server::StoreAccess::PullReport& report,
                        const CancelPoll& is_stopped) {
                return pull_for_request(
                    name, options.model.hub, environment,
                    [&] { return is_stopped() || (is_interrupted && is_interrupted()); }, report);
            }};
    }
    ETNA_TRY(const auto server, server::Server::open(server_options, models,
                                                     [&log](std::string_view line) { log.write(line); }));
    const server::AccessRules& access = server_options.service.access;
    const bool is_local = server::is_loopback(access.host);
    if (!is_local) {
        log.warn(fmt::format("listening on {}: other machines can reach this server{}", access.host,
                             access.api_keys.empty() ? ", and no --api-key is set" : ""));
    }
    if (!access.client_header.empty() && !access.api_keys.empty())
        log.warn("--client-header has no effect, because API keys are set and identify the clients");
    is_interrupted = environment.watch_interrupts(SecondInterrupt::ends_program);
    Status status;
    std::optional<ServerAnnouncement> announcement;
    const auto announce = [&]() -> Status {
        for (const std::string& line : startup_lines(options, devices, models, *server))
            log.startup(line);
        if (kv_events != nullptr) {
            const std::string pod = pod_name(*options.kv_events, server->port());
            log.startup(kv_events_line(*kv_events, pod));
            kv_events->start(pod);
        }
        auto published = ServerAnnouncement::publish(
            runtime_folder(environment.variables),
            {.url = local_address(options, server->port()),
             .certificate = absolute_path(options.server.connection.tls_certificate)});
        if (published) {
            announcement.emplace(std::move(*published));
        } else {
            log.warn(published.error().message);
        }
        output.write(address_of(options, server->port()) + "\n");
        if (options.opens_page)
            open_page(page_address(options, server->port()), environment, log);
        // A program that waits for this line would wait forever.
        return output.state() == OutputState::failed ? Status(output.error()) : Status();
    };
    const auto prepare = [&] {
        status = prepare_models(options, models, log, is_interrupted);
        return status.has_value();
    };
    const auto on_ready = [&] {
        status = announce();
        return status.has_value();
    };
    const auto end = server->run(is_interrupted, {.prepare = prepare, .on_ready = on_ready});
    if (end == server::ShutdownResult::abandoned)
        std::_Exit(static_cast<int>(ExitCode::done)); // destructors would wait for the work, perhaps forever
    return end == server::ShutdownResult::not_started ? status : Status();
}

/// Runs `etna serve`. Blocking.
ExitCode serve_command(const ServeOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    ServerLog log(diagnostics, options.server.service.log_format, options.verbosity);
    const Status status = serve(options, environment, log, diagnostics);
    return status ? ExitCode::done : (diagnostics.error(status.error()), ExitCode::failed);
}

} // namespace

Command serve_spec() {
    Command spec = serve_command_line();
    spec.run = run_validated<validate_serve, serve_command>;
    return spec;
}

} // namespace etna::cli

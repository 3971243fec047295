#include "cli/commands/serve_command.hpp"

#include "cli/commands/serve_welcome.hpp"
#include "cli/commands/served_models.hpp"
#include "cli/folders.hpp"
#include "cli/options/connection_options.hpp"
#include "cli/options/key_file.hpp"
#include "cli/options/option_values.hpp"
#include "cli/options/store_options.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/output.hpp"
#include "core/base/log.hpp"
#include "core/base/utf8.hpp"
#include "core/store/embedded.hpp"
#include "server/endpoints.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>

namespace etna::cli {
namespace {

constexpr uint32_t default_port = 8080;
constexpr uint32_t default_parallel = 16;

std::vector<std::string> texts_of(const OptionValues& values, std::string_view name) {
    std::vector<std::string> texts;
    for (const TypedValue& value : values.texts(name))
        texts.push_back(value.text);
    return texts;
}

/// Reads --alias: "a,b" is two names of one model. Errors: invalid_argument (an empty name).
Result<std::vector<std::vector<std::string>>> read_names(const OptionValues& values) {
    std::vector<std::vector<std::string>> all;
    for (const std::string& given : texts_of(values, "alias")) {
        std::vector<std::string>& names = all.emplace_back();
        for (std::size_t begin = 0; begin <= given.size();) {
            const std::size_t end = std::min(given.find(',', begin), given.size());
            names.push_back(given.substr(begin, end - begin));
            begin = end + 1;
        }
        if (std::find(names.begin(), names.end(), "") != names.end()) {
            return Error{ErrorKind::invalid_argument, fmt::format("--alias: `{}` has an empty name", given),
                         "give one name, or several with commas between them"};
        }
    }
    return all;
}

/// Reads a configured path for one of the two routes that can be renamed.
Status read_path(const OptionValues& values, std::string_view name, std::string& path) {
    path = values.text(name).value_or(path);
    const bool is_good =
        path.size() > 1 && path.front() == '/' && path.find_first_of("?#{}% ") == std::string::npos;
    if (is_good)
        return {};
    return Error{ErrorKind::invalid_argument, fmt::format("--{}: `{}` is no path", name, path),
                 "give one like /v1/chat/completions"};
}

Status read_paths(const OptionValues& values, server::ServiceOptions& options) {
    ETNA_CHECK(read_path(values, "chat-path", options.chat_path));
    ETNA_CHECK(read_path(values, "completions-path", options.completions_path));
    const std::vector<server::Route> routes = server::all_routes(options);
    for (const std::string& path : {options.chat_path, options.completions_path}) {
        const auto uses = std::count_if(routes.begin(), routes.end(), [&](const server::Route& route) {
            return route.method == "POST" && server::match(route.path, path).has_value();
        });
        if (uses > 1) {
            return Error{
                ErrorKind::invalid_argument, fmt::format("{} is the path of two routes", path),
                "give --chat-path and --completions-path paths of their own; --routes lists the others"};
        }
    }
    return {};
}

Status read_logging(const OptionValues& values, server::ServiceOptions& options) {
    ETNA_TRY(const bool as_json, values.flag("log-json"));
    options.log_format = as_json ? server::LogFormat::json : server::LogFormat::text;
    ETNA_TRY(options.logs_prompts, values.flag("log-prompts"));
    return {};
}

Error no_rule(std::string_view option, const std::string& given, std::string hint) {
    return {ErrorKind::invalid_argument, fmt::format("--{}: `{}` is none", option, given), std::move(hint)};
}

Status read_proxies(const OptionValues& values, server::AccessRules& access) {
    if (const auto name = values.text("client-header")) {
        const auto rule = server::client_header_rule(*name);
        if (!rule) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("--client-header: `{}` is not a header name", *name),
                         "give the name alone, such as X-Real-IP"};
        }
        access.client_header = *rule;
    }
    for (const std::string& given : texts_of(values, "trusted-proxy")) {
        const auto range = server::address_range(given);
        if (!range) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("--trusted-proxy: `{}` is not an address or a network", given),
                         "give one such as 10.0.0.7, 10.0.0.0/8 or fd00::/8"};
        }
        access.trusted_proxies.push_back(*range);
    }
    if (access.client_header.empty() && !access.trusted_proxies.empty()) {
        return Error{ErrorKind::invalid_argument, "--trusted-proxy is given without --client-header",
                     "name the header that the proxy sets with --client-header NAME"};
    }
    return {};
}

Status read_access(const OptionValues& values, const std::string& host, server::AccessRules& access) {
    access.host = server::host_rule(host).value_or(host); // an invalid host is reported when binding fails
    for (const std::string& given : texts_of(values, "allowed-host")) {
        const auto rule = server::host_rule(given);
        if (!rule)
            return no_rule("allowed-host", given, "give a name or an address alone; any port will do");
        access.allowed_hosts.push_back(*rule);
    }
    for (const std::string& given : texts_of(values, "cors")) {
        const auto rule = server::origin_rule(given);
        if (!rule)
            return no_rule("cors", given, "give an origin as browsers send it: https://example.org");
        access.cors_origins.push_back(*rule);
    }
    access.api_keys = texts_of(values, "api-key");
    return read_proxies(values, access);
}

Status read_server(const OptionValues& values, server::ServerOptions& options) {
    constexpr uint32_t default_drain_s = 30;
    constexpr uint32_t default_keep_alive_s = 15;
    server::AccessRules& access = options.service.access;
    options.connection.host = values.text("host").value_or("127.0.0.1");
    ETNA_CHECK(read_access(values, options.connection.host, access));
    if (std::find(access.api_keys.begin(), access.api_keys.end(), "") != access.api_keys.end())
        return Error{ErrorKind::invalid_argument, "--api-key: a key must not be empty"};
    ETNA_TRY(const auto port, values.integer("port"));
    options.connection.port = static_cast<int>(port.value_or(default_port));
    ETNA_CHECK(read_connection(values, options));
    ETNA_TRY(const auto choices, values.integer("n-max"));
    options.service.limits.choices_max = choices.value_or(options.service.limits.choices_max);
    ETNA_TRY(options.service.limits.max_tokens_limit, values.integer("max-tokens-limit"));
    ETNA_TRY(options.service.limits.ignore_eos_max_tokens, values.integer("ignore-eos-max-tokens"));
    ETNA_TRY(options.service.limits.prompt_tokens_max, values.integer("prompt-max"));
    ETNA_TRY(options.service.limits.has_strict_tools, values.flag("tools-strict"));
    ETNA_TRY(const auto request_s, values.integer("request-timeout"));
    options.service.request_time = std::chrono::seconds(request_s.value_or(0));
    ETNA_TRY(const auto drain_s, values.integer("drain-timeout"));
    options.drain_timeout = std::chrono::seconds(drain_s.value_or(default_drain_s));
    ETNA_TRY(options.service.accepts_any_model_name, values.flag("any-model-name"));
    ETNA_CHECK(read_paths(values, options.service));
    ETNA_CHECK(read_logging(values, options.service));
    ETNA_TRY(const auto keep_alive_s, values.integer("keep-alive"));
    options.service.keep_alive = std::chrono::seconds(keep_alive_s.value_or(default_keep_alive_s));
    return {};
}

/// Returns a model's name for clients.
std::string served_name(const std::string& model) {
    const std::filesystem::path path(model);
    return path.extension() == ".gguf" ? path.stem().string() : path.filename().string();
}

/// Validates a name and adds it to `taken`.
Status check_name(const std::string& name, std::set<std::string>& taken) {
    if (valid_utf8_prefix(name) != name.size()) {
        return Error{ErrorKind::invalid_argument,
                     fmt::format("the name {} is no UTF-8: nobody could ask for it", repaired_utf8(name)),
                     "give another with --alias"};
    }
    if (!taken.insert(name).second) {
        return Error{ErrorKind::invalid_argument, fmt::format("two models are named `{}`", name),
                     "give names with --alias, one for each model in their order"};
    }
    return {};
}

Result<server::Models::Options> models_of(const ServeOptions& options, const Environment& environment) {
    server::Models::Options models = {
        .named = {}, .folder = options.models_folder, .loaded_max = options.models_max};
    std::set<std::string> taken;
    for (std::size_t i = 0; i < options.models.size(); ++i) {
        ETNA_TRY(auto source, store::resolve(options.models[i], models_folder(environment.variables)));
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
void place_store(server::PersistenceOptions& persistence, const Environment& environment) {
    if (!persistence.in_memory)
        return;
    persistence.store.file = responses_file(environment.variables);
    if (persistence.store.file.empty())
        persistence.store = *persistence.in_memory;
}

/// Makes the allocator return large blocks to the system immediately. By default it caches them once it has
/// freed one, up to 32 MiB each, separately for every serving thread.
void give_large_memory_back() {
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

    /// Writes a line of server/log_line.hpp.
    void write(std::string_view line) {
        const std::scoped_lock lock(mutex_);
        diagnostics_->line(line);
    }

    void warn(std::string_view message) { write(server::warning_line(format_, message)); }

    /// Writes a start-up line: without a time, unless the log format is JSON.
    void welcome(std::string_view line) {
        write(format_ == server::LogFormat::json ? server::event_line(format_, line) : std::string(line));
    }

private:
    Diagnostics* diagnostics_; ///< borrowed
    server::LogFormat format_;
    std::mutex mutex_;
};

Status check_folder(const std::filesystem::path& folder) {
    std::error_code failure;
    if (folder.empty() || std::filesystem::is_directory(folder, failure))
        return {};
    return Error{ErrorKind::invalid_argument,
                 fmt::format("--models-dir: {} is no folder{}", folder.string(),
                             failure ? ": " + failure.message() : ""),
                 "make it, or name one that is there"};
}

} // namespace

Result<ServeOptions> validate_serve(const Command& command, const TypedArguments& arguments) {
    const OptionValues values(command, arguments);
    ServeOptions options;
    ETNA_TRY(options.model, read_model(values, {}));
    ETNA_TRY(const auto parallel, values.integer("parallel"));
    options.model.executor.sequences_max = parallel.value_or(default_parallel);
    ETNA_TRY(const auto batch_tokens, values.integer("batch-tokens"));
    options.model.executor.batch_tokens_max = batch_tokens.value_or(0);
    ETNA_TRY(const auto queue, values.integer("queue"));
    options.model.executor.queue_max = queue.value_or(options.model.executor.queue_max);
    ETNA_TRY(options.shows_routes, values.flag("routes"));
    options.models = arguments.positionals;
    ETNA_TRY(options.names, read_names(values));
    const auto folder = values.text("models-dir");
    if (folder && folder->empty())
        return Error{ErrorKind::invalid_argument, "--models-dir is empty", "name a folder with .gguf files"};
    options.models_folder = folder.value_or("");
    ETNA_TRY(const auto models_max, values.integer("models-max"));
    options.models_max = models_max.value_or(0);
    options.api_key_file = values.text("api-key-file").value_or("");
    if (options.models.empty() && options.models_folder.empty())
        options.models.emplace_back(store::demo_name);
    if (options.names.size() > options.models.size())
        return Error{ErrorKind::invalid_argument, "there are more --alias than models"};
    ETNA_CHECK(read_server(values, options.server));
    ETNA_TRY(options.server.persistence, read_store(values));
    // Refuse requests with more answers than can run and wait at once.
    uint32_t& answers_max = options.server.service.limits.answers_max;
    answers_max =
        std::min(answers_max, options.model.executor.sequences_max + options.model.executor.queue_max);
    ETNA_TRY(const bool verbose, values.flag("verbose"));
    options.verbosity = verbose ? Verbosity::verbose : Verbosity::quiet;
    return options;
}

ExitCode serve_command(const ServeOptions& options, const Environment& environment) {
    Diagnostics diagnostics(environment);
    ServerLog log(diagnostics, options.server.service.log_format, options.verbosity);
    const auto fail = [&](const Error& error) { return diagnostics.error(error), ExitCode::failed; };
    Output output(environment.output);
    if (options.shows_routes) {
        output.write(server::route_lines(server::all_routes(options.server.service)));
        return output.state() == OutputState::failed ? fail(output.error()) : ExitCode::done;
    }
    server::ServerOptions server_options = options.server;
    place_store(server_options.persistence, environment);
    server::AccessRules& access = server_options.service.access;
    if (!options.api_key_file.empty()) {
        const auto keys = read_keys(options.api_key_file);
        if (!keys)
            return fail(keys.error());
        access.api_keys.insert(access.api_keys.end(), keys->begin(), keys->end());
    }
    if (const Status status = check_folder(options.models_folder); !status)
        return fail(status.error());
    auto listed = models_of(options, environment);
    if (!listed)
        return fail(listed.error());
    if (const Status status = check_named(listed->named, options.model, environment); !status)
        return fail(status.error());
    const auto devices =
        environment.device_lister(options.model.executor.device, cache_folder(environment.variables));
    if (!devices)
        return fail(devices.error());
    raise_descriptor_limit();
    give_large_memory_back();
    server::Models models(
        std::move(*listed),
        [&](const store::ModelSource& source) { return load_served(source, options.model, environment); },
        [&](const store::ModelSource& source) { return inspect_served(source, options.model); });
    const bool has_model = !models.list_inspected().empty();
    if (const Status status = check_template(options.model, has_model); !status)
        return fail(status.error());
    if (!has_model) {
        log.warn(
            fmt::format("{} has no .gguf file that can be used: there is no model to ask until one appears",
                        options.models_folder.string()));
    }
    const auto server =
        server::Server::open(server_options, models, [&log](std::string_view line) { log.write(line); });
    if (!server)
        return fail(server.error());
    const bool is_local = server::is_loopback(access.host);
    if (!is_local) {
        log.warn(fmt::format("listening on {}: other machines can reach this server{}", access.host,
                             access.api_keys.empty() ? ", and no --api-key is set" : ""));
    }
    if (!access.client_header.empty() && !access.api_keys.empty())
        log.warn("--client-header has no effect, because API keys are set and name the clients");
    for (const std::string& line : welcome_lines(options, *devices, models, **server))
        log.welcome(line);
    const auto is_interrupted = environment.watch_interrupts(SecondInterrupt::ends_program);
    output.write(address_of(options, (*server)->port()) + "\n");
    if (output.state() == OutputState::failed) // a program that waits for this line would wait forever
        return fail(output.error());
    if ((*server)->run(is_interrupted) == server::ShutdownResult::abandoned)
        std::_Exit(static_cast<int>(ExitCode::done)); // destructors would wait for the work, perhaps forever
    return ExitCode::done;
}

} // namespace etna::cli

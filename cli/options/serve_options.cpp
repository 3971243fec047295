#include "cli/options/serve_options.hpp"

#include "cli/environment.hpp"
#include "cli/options/compat.hpp"
#include "cli/options/connection_options.hpp"
#include "cli/options/generation_options.hpp"
#include "cli/options/option_values.hpp"
#include "cli/options/search_options.hpp"
#include "cli/options/store_options.hpp"
#include "cli/terminal/diagnostics.hpp"
#include "cli/terminal/printable.hpp"
#include "cli/text_io.hpp"
#include "core/base/bytes.hpp"
#include "core/base/duration.hpp"
#include "core/base/log.hpp"
#include "core/base/utf8.hpp"
#include "core/store/embedded.hpp"
#include "core/store/http_client.hpp"
#include "server/app/endpoints.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <malloc.h>
#include <sys/resource.h>

namespace etna::cli {
namespace {

constexpr double port_max = 65535;
constexpr double parallel_max = 256;
constexpr double batch_tokens_min = 16;
constexpr double batch_tokens_max = 4096;
constexpr double choices_max = 128;
constexpr double queue_max = 65536;

constexpr std::array serve_positionals = {
    Positional{.name = "MODEL",
               .description = "as for `etna run`, any number; `demo` without MODEL and --models-dir",
               .brief = "as for `etna run`, any number",
               .presence = Presence::optional,
               .completion = Completion::models,
               .repeat = Repeat::collect},
};

constexpr std::array<std::string_view, 3> requested_choices = {"served", "stored", "pull"};
constexpr std::array<std::string_view, 1> api_choices = {"ollama"};
constexpr std::array<std::string_view, 4> served_poolings = {"mean", "cls", "last", "rank"};

constexpr std::array server_rows = {
    Option{.name = "host",
           .value = "ADDRESS",
           .kind = Kind::text,
           .default_text = "127.0.0.1",
           .description = "address to listen on; 0.0.0.0: all addresses of this machine",
           .brief = "address to listen on; 0.0.0.0: all"},
    Option{.name = "port",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, port_max},
           .default_text = "8080",
           .description = "port to listen on; 0 picks a free one",
           .brief = "port to listen on, 8080 by default"},
    Option{.name = "models-dir",
           .value = "FOLDER",
           .kind = Kind::text,
           .description = "also serve every model in this folder; files may come and go",
           .brief = "also serve every model in this folder"},
    Option{.name = "models-max",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, parallel_max},
           .default_text = "as many as memory holds",
           .description = "maximum number of models in memory; the least recently used one is unloaded when "
                          "idle, and requests for another wait"},
    Option{.name = "models-memory",
           .value = "SIZE",
           .kind = Kind::size,
           .range = {mebibyte, uint32_max* mebibyte},
           .default_text = "the memory of the device",
           .description =
               "maximum memory of all loaded models together, such as 16G; least recently used ones "
               "are unloaded, when idle, until another fits"},
    Option{.name = "pin",
           .value = "NAME",
           .kind = Kind::text,
           .description = "load this model at the start and keep it in memory; may be repeated",
           .repeat = Repeat::collect},
    Option{.name = "sleep-after",
           .value = "DURATION",
           .kind = Kind::text,
           .default_text = "never",
           .description =
               "unload a model that has been idle for this time, such as 90s, 15m or 1h30m; the next "
               "request loads it again"},
    Option{.name = "on-request",
           .value = "WHICH",
           .kind = Kind::choice,
           .choices = requested_choices,
           .default_text = "served",
           .description =
               "models that requests may name: served ones; all stored ones; or `pull`: also those "
               "of the hub (hf.co/USER/REPO, qwen3:0.6b), which are fetched first, so that clients "
               "can fill the disk"},
    Option{.name = "api",
           .value = "NAME",
           .kind = Kind::choice,
           .choices = api_choices,
           .description =
               "also be a server for Ollama's clients: listen on port 11434, too, and let clients pull, copy "
               "and delete stored models, which requests may name (--on-request stored)",
           .brief = "also serve Ollama's clients: port 11434, and changes of stored models"},
    Option{.name = "alias",
           .value = "NAME,...",
           .kind = Kind::text,
           .description = "serve a MODEL under this name; the first --alias names the first MODEL, and so "
                          "on; commas separate several names of one model",
           .repeat = Repeat::collect},
    Option{.name = "pooling",
           .value = "POOLING",
           .kind = Kind::choice,
           .choices = served_poolings,
           .default_text = "as the model says",
           .description =
               "pool embeddings so; `rank` serves rerankers whose file does not say that it is one, "
               "and leaves models without a head for it as they are"},
    Option{.name = "any-model-name",
           .description = "answer requests for unknown model names with the first model; otherwise they get "
                          "404 model_not_found"},
    Option{.name = "parallel",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, parallel_max},
           .default_text = "16",
           .description = "maximum answers that a model generates at a time; more wait",
           .brief = "maximum answers that a model generates at a time; more wait"},
    Option{.name = "batch-tokens",
           .value = "N",
           .kind = Kind::integer,
           .range = {batch_tokens_min, batch_tokens_max},
           .default_text = "512, and 64 on a CPU",
           .description = "maximum tokens of one step, prompts and answers together; higher values are "
                          "faster for long prompts and delay other requests"},
    Option{.name = "api-key",
           .value = "KEY",
           .kind = Kind::text,
           .description = "require this key; may be repeated; clients share the engine fairly by key, or by "
                          "address if no key is set: then all clients behind one address count as one",
           .brief = "require this key; without keys, all clients behind one address count as one",
           .repeat = Repeat::collect},
    Option{.name = "api-key-file",
           .value = "FILE",
           .kind = Kind::text,
           .description = "require one of the keys in this file, one per line",
           .brief = "require one of the keys in this file"},
    Option{.name = "operator-key-file",
           .value = "FILE",
           .kind = Kind::text,
           .default_text = "with keys, clients on this machine are the operator's",
           .description =
               "accept the keys in this file, too, and from no other key what changes models for all: "
               "unloading, keep_alive, pulling, copying and deleting"},
    Option{.name = "client-header",
           .value = "NAME",
           .kind = Kind::text,
           .description = "identify clients by the last element of this header if no key is set; an IPv6 "
                          "address counts by its /64 network; a reverse proxy sets or appends it; only 256 "
                          "bytes count, and only from the loopback and --trusted-proxy"},
    Option{.name = "trusted-proxy",
           .value = "ADDRESS[/BITS]",
           .kind = Kind::text,
           .description =
               "accept --client-header from this address or network, IPv4 or IPv6; may be repeated",
           .repeat = Repeat::collect},
    Option{.name = "allowed-host",
           .value = "NAME",
           .kind = Kind::text,
           .description = "also answer requests for this host name, at any port; * for all; may be repeated; "
                          "needed only on the loopback without a key",
           .repeat = Repeat::collect},
    Option{.name = "cors",
           .value = "ORIGIN",
           .kind = Kind::text,
           .description = "allow web pages of this origin, * for all; may be repeated",
           .repeat = Repeat::collect},
    Option{.name = "queue",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, queue_max},
           .default_text = "256",
           .description = "maximum requests that wait for a model; more get 429. Lines of batches, and "
                          "requests with a priority number above 0, leave half of it to the others"},
    Option{.name = "n-max",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, choices_max},
           .default_text = "128",
           .description = "maximum choices of a request, by n or best_of"},
    Option{.name = "max-tokens-limit",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, int32_max},
           .description = "default and maximum of max_tokens on the paths of OpenVINO Model Server, /v3"},
    Option{.name = "ignore-eos-max-tokens",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, int32_max},
           .description = "maximum of max_tokens, or of its default, for requests with ignore_eos"},
    Option{.name = "tools-strict", .description = tools_strict_text},
    json_whitespace_option,
    stop_in_reasoning_option,
    reasoning_budget_option,
    reasoning_budget_message_option,
    Option{.name = "effort-budgets",
           .value = "EFFORT=N,...",
           .kind = Kind::text,
           .description = "limit the reasoning to N tokens for requests of these efforts: "
                          "low=1024,medium=4096,high=16384"},
    Option{.name = "prompt-max",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, int32_max},
           .default_text = "the context",
           .description = "maximum tokens of a prompt; longer ones get 400"},
    Option{.name = "request-timeout",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {0, day_s},
           .default_text = "0: none",
           .description = "time limit of a request; an unfinished answer then ends with finish_reason "
                          "`length`, and one that has not started gets 503"},
    Option{.name = "drain-timeout",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {0, day_s},
           .default_text = "30",
           .description = "time that running requests may take after SIGTERM or SIGHUP"},
    Option{.name = "keep-alive",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {1, day_s},
           .default_text = "15",
           .description = "interval of comments in a silent stream"},
    Option{.name = "chat-path",
           .value = "PATH",
           .kind = Kind::text,
           .default_text = "/v1/chat/completions",
           .description = "path of chat completions"},
    Option{.name = "completions-path",
           .value = "PATH",
           .kind = Kind::text,
           .default_text = "/v1/completions",
           .description = "path of completions"},
    Option{.name = "context-shift",
           .description = "when the context is full, drop the first half of what follows the first tokens "
                          "that a request keeps, and continue; computes the rest again"},
    Option{.name = "slots",
           .description = "show the running answers of all clients, without their texts, at GET /slots"},
    Option{.name = "no-page",
           .description = "serve no web page: `/` answers a plain front page",
           .brief = "serve no web page"},
    Option{.name = "open",
           .description = "open the web page in a browser when the server is ready, with xdg-open",
           .brief = "open the web page in a browser when the server is ready"},
    Option{.name = "page-inspect",
           .description = "keep the rendered prompts of the last 100 requests in memory, for the web page; "
                          "clients see their "
                          "own, the operator all, and without keys all are seen on this machine only"},
    Option{.name = "otlp",
           .value = "URL",
           .kind = Kind::text,
           .description =
               "send a trace of each request to this collector, by OTLP over HTTP in JSON, such as "
               "http://localhost:4318 (/v1/traces is added to an address without a path)"},
    Option{
        .name = "routes", .description = "print every route and exit", .brief = "print every route and exit"},
    Option{
        .name = "log-json", .description = "write log lines as JSON objects", .category = Category::output},
    Option{.name = "log-prompts", .description = "log the prompts", .category = Category::output},
    Option{.name = "verbose",
           .short_name = 'v',
           .description = "log more on standard error",
           .brief = "log more on standard error",
           .category = Category::output},
    help_option,
    help_all_option,
};

constexpr auto server_options = in_category(Category::server, server_rows);

constexpr std::array serve_template_options = {chat_template_option};

constexpr std::array serve_examples = {
    Example{"etna serve", "the built-in model, on port 8080"},
    Example{"etna serve ./model.gguf --port 9000", "a model in a file"},
    Example{"etna serve --models-dir ~/models --api-key-file keys.txt --host 0.0.0.0",
            "a folder of models, reachable from the network"},
    Example{"etna serve qwen3:0.6b --api ollama", "a server for Ollama's clients, on port 11434 too"},
    Example{"etna serve --tls-cert cert.pem --tls-key key.pem", "encrypted, at https://127.0.0.1:8080"},
    Example{"curl http://127.0.0.1:8080/v1/chat/completions -d '{\"messages\": [{\"role\": \"user\", "
            "\"content\": \"What is 34 + 58?\"}]}'",
            "a request"},
};

constexpr auto all_compat_serve = joined(compat_model, compat_device, compat_serve);

constexpr uint32_t default_port = 8080;
constexpr int ollama_port = 11434; ///< that Ollama's clients use by default
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
            return invalid_argument(fmt::format("--alias: `{}` has an empty name", given),
                                    "give one name, or several with commas between them");
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
    return invalid_argument(fmt::format("--{}: `{}` is not a path", name, path),
                            "use a path such as /v1/chat/completions");
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
            return invalid_argument(
                fmt::format("{} is the path of two routes", path),
                "use unique paths for --chat-path and --completions-path; --routes lists the others");
        }
    }
    return {};
}

/// Reads a list such as low=1024,high=16384. Errors: invalid_argument.
Result<server::api::EffortBudgets> parse_effort_budgets(std::string_view list) {
    namespace api = server::api;
    api::EffortBudgets budgets;
    while (!list.empty()) {
        const std::string_view entry = list.substr(0, list.find(','));
        list.remove_prefix(std::min(entry.size() + 1, list.size()));
        const std::size_t equals = std::min(entry.find('='), entry.size());
        const auto* const effort =
            std::find(api::effort_names.begin(), api::effort_names.end(), entry.substr(0, equals));
        const std::string_view digits = entry.substr(std::min(equals + 1, entry.size()));
        uint32_t tokens = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), tokens);
        if (effort == api::effort_names.end() || digits.empty() || error != std::errc() ||
            end != digits.data() + digits.size()) {
            return invalid_argument(
                fmt::format("--effort-budgets: cannot read {}", backquoted(entry)),
                fmt::format("write EFFORT=TOKENS, with one of {}", fmt::join(api::effort_names, ", ")));
        }
        std::optional<uint32_t>& budget =
            budgets.at(static_cast<std::size_t>(effort - api::effort_names.begin()));
        if (budget) {
            return invalid_argument(fmt::format("--effort-budgets: {} is there twice", *effort),
                                    "write each effort once");
        }
        budget = tokens;
    }
    return budgets;
}

Status read_reasoning_budgets(const OptionValues& values, server::api::RequestLimits& limits) {
    ETNA_TRY(const auto limit, read_reasoning_limit(values));
    if (limit)
        limits.reasoning_budget = limit->tokens_max;
    limits.reasoning_budget_message = values.text("reasoning-budget-message").value_or("");
    ETNA_TRY(limits.effort_budgets, parse_effort_budgets(values.text("effort-budgets").value_or("")));
    return {};
}

Status read_logging(const OptionValues& values, server::ServiceOptions& options) {
    ETNA_TRY(const bool as_json, values.flag("log-json"));
    options.log_format = as_json ? server::LogFormat::json : server::LogFormat::text;
    ETNA_TRY(options.logs_prompts, values.flag("log-prompts"));
    return {};
}

Error invalid_rule(std::string_view option, const std::string& given, std::string hint) {
    return {ErrorKind::invalid_argument, fmt::format("--{}: `{}` is not valid", option, given),
            std::move(hint)};
}

Status read_proxies(const OptionValues& values, server::AccessRules& access) {
    if (const auto name = values.text("client-header")) {
        const auto rule = server::client_header_rule(*name);
        if (!rule) {
            return invalid_argument(fmt::format("--client-header: `{}` is not a header name", *name),
                                    "give the name alone, such as X-Real-IP");
        }
        access.client_header = *rule;
    }
    for (const std::string& given : texts_of(values, "trusted-proxy")) {
        const auto range = server::address_range(given);
        if (!range) {
            return invalid_argument(
                fmt::format("--trusted-proxy: `{}` is not an address or a network", given),
                "give one such as 10.0.0.7, 10.0.0.0/8 or fd00::/8");
        }
        access.trusted_proxies.push_back(*range);
    }
    if (access.client_header.empty() && !access.trusted_proxies.empty()) {
        return invalid_argument("--trusted-proxy is given without --client-header",
                                "name the header that the proxy sets with --client-header NAME");
    }
    return {};
}

Status read_access(const OptionValues& values, const std::string& host, server::AccessRules& access) {
    access.host = server::host_rule(host).value_or(host); // an invalid host is reported when binding fails
    for (const std::string& given : texts_of(values, "allowed-host")) {
        const auto rule = server::host_rule(given);
        if (!rule)
            return invalid_rule("allowed-host", given, "use a name or an address without a port");
        access.allowed_hosts.push_back(*rule);
    }
    for (const std::string& given : texts_of(values, "cors")) {
        const auto rule = server::origin_rule(given);
        if (!rule) {
            return invalid_rule("cors", given,
                                "use an origin as browsers send it, such as https://example.org");
        }
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
        return invalid_argument("--api-key: a key must not be empty");
    ETNA_TRY(const auto port, values.integer("port"));
    options.connection.port = static_cast<int>(port.value_or(default_port));
    ETNA_CHECK(read_connection(values, options));
    ETNA_TRY(const auto choices, values.integer("n-max"));
    options.service.limits.choices_max = choices.value_or(options.service.limits.choices_max);
    ETNA_TRY(options.service.limits.max_tokens_limit, values.integer("max-tokens-limit"));
    ETNA_TRY(options.service.limits.ignore_eos_max_tokens, values.integer("ignore-eos-max-tokens"));
    ETNA_TRY(options.service.limits.prompt_tokens_max, values.integer("prompt-max"));
    ETNA_TRY(options.service.limits.has_strict_tools, values.flag("tools-strict"));
    ETNA_TRY(options.service.limits.json_spacing, read_json_spacing(values));
    ETNA_TRY(options.service.limits.stop_scope, read_stop_scope(values));
    ETNA_CHECK(read_reasoning_budgets(values, options.service.limits));
    ETNA_TRY(const auto request_s, values.integer("request-timeout"));
    options.service.request_time = std::chrono::seconds(request_s.value_or(0));
    ETNA_TRY(const auto drain_s, values.integer("drain-timeout"));
    options.drain_timeout = std::chrono::seconds(drain_s.value_or(default_drain_s));
    ETNA_TRY(options.service.accepts_any_model_name, values.flag("any-model-name"));
    ETNA_TRY(options.service.shows_slots, values.flag("slots"));
    ETNA_TRY(options.service.shifts_context, values.flag("context-shift"));
    ETNA_CHECK(read_paths(values, options.service));
    ETNA_CHECK(read_logging(values, options.service));
    ETNA_TRY(const auto keep_alive_s, values.integer("keep-alive"));
    options.service.keep_alive = std::chrono::seconds(keep_alive_s.value_or(default_keep_alive_s));
    return {};
}

/// Reads where traces go. Errors: invalid_argument.
Status read_tracing(const OptionValues& values, server::ServerOptions& options) {
    const auto url = values.text("otlp");
    if (!url)
        return {};
    const std::string origin = store::origin_of(*url);
    if (origin.empty()) {
        return invalid_argument(
            fmt::format("--otlp: `{}` is not an http or https address", store::printable_url(*url)),
            "name the collector, such as http://localhost:4318");
    }
    const std::size_t host = url->find("://") + std::string_view("://").size();
    const std::size_t path = std::min(url->find_first_of("/?#", host), url->size());
    const std::size_t query = std::min(url->find_first_of("?#", host), url->size());
    const bool has_path = query > path + 1;
    options.traces.emplace(server::tracing::ExportOptions{
        .url = has_path ? *url : url->substr(0, path) + "/v1/traces" + url->substr(query)});
    return {};
}

/// Reads whether the web page is served, opened, and shows prompts. Errors: invalid_argument.
Status read_page(const OptionValues& values, ServeOptions& options) {
    server::ServiceOptions& service = options.server.service;
    ETNA_TRY(const bool has_no_page, values.flag("no-page"));
    service.has_page = !has_no_page;
    ETNA_TRY(options.opens_page, values.flag("open"));
    ETNA_TRY(service.keeps_prompts, values.flag("page-inspect"));
    if (service.has_page || (!options.opens_page && !service.keeps_prompts))
        return {};
    return invalid_argument(fmt::format("--{} needs the web page, and --no-page leaves it out",
                                        options.opens_page ? "open" : "page-inspect"),
                            "leave one of the two options out");
}

/// Reads which models stay in memory, and for how long.
Status read_residency(const OptionValues& values, ServeOptions& options) {
    ETNA_TRY(const auto bytes_max, values.size_bytes("models-memory"));
    options.models_bytes_max = bytes_max.value_or(options.models_bytes_max);
    options.pinned = texts_of(values, "pin");
    if (const auto given = values.text("sleep-after")) {
        const auto duration = parse_duration(*given);
        if (!duration || *duration <= std::chrono::milliseconds(0))
            return invalid_argument(fmt::format("--sleep-after: `{}` is not a duration", *given),
                                    "give one such as 90s, 15m or 1h30m");
        options.sleep_after = *duration;
    }
    return {};
}

constexpr std::string_view blanks = " \t\r\v\f";

/// Returns the key in a line; empty if there is none.
std::string_view key_in(std::string_view line) {
    const std::size_t begin = std::min(line.find_first_not_of(blanks), line.size());
    std::string_view key = line.substr(begin);
    for (std::size_t at = key.find('#'); at != std::string_view::npos; at = key.find('#', at + 1)) {
        if (at == 0 || blanks.find(key[at - 1]) != std::string_view::npos)
            key = key.substr(0, at);
    }
    return key.substr(0, key.find_last_not_of(blanks) + 1);
}

/// Returns the keys in the file that the option names; none if it names no file.
Result<std::vector<std::string>> read_key_file(const OptionValues& values, std::string_view option) {
    constexpr std::size_t bytes_max = 1 << 20;
    const std::string file = values.text(option).value_or("");
    std::vector<std::string> keys;
    if (file.empty())
        return keys;
    const auto text = read_text_file(file, bytes_max);
    if (!text) {
        return invalid_argument(fmt::format("--{}: {}", option, text.error().message),
                                "name a file with one key on each line");
    }
    for (const std::string& line : split_lines(*text)) {
        if (const std::string_view key = key_in(line); !key.empty())
            keys.emplace_back(key);
    }
    if (keys.empty()) {
        return invalid_argument(fmt::format("--{}: {} has no key", option, file),
                                "put one key on each line; # starts a comment");
    }
    return keys;
}

/// The keys of operators are also keys of clients.
Status read_key_files(const OptionValues& values, server::AccessRules& access) {
    ETNA_TRY(const auto keys, read_key_file(values, "api-key-file"));
    access.api_keys.insert(access.api_keys.end(), keys.begin(), keys.end());
    ETNA_TRY(access.operator_keys, read_key_file(values, "operator-key-file"));
    access.api_keys.insert(access.api_keys.end(), access.operator_keys.begin(), access.operator_keys.end());
    return {};
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
    ETNA_TRY(const auto pooling, values.choice("pooling"));
    if (pooling)
        options.model.pooling = generate::pooling_named(*pooling);
    ETNA_TRY(const auto queue, values.integer("queue"));
    options.model.executor.queue_max = queue.value_or(options.model.executor.queue_max);
    ETNA_TRY(options.shows_routes, values.flag("routes"));
    options.models = arguments.positionals;
    ETNA_TRY(options.names, read_names(values));
    const auto folder = values.text("models-dir");
    if (folder && folder->empty())
        return invalid_argument("--models-dir is empty", "name a folder with .gguf files");
    options.models_folder = folder.value_or("");
    ETNA_TRY(const auto models_max, values.integer("models-max"));
    options.models_max = models_max.value_or(0);
    ETNA_CHECK(read_residency(values, options));
    ETNA_TRY(const auto requested, values.choice("on-request"));
    ETNA_TRY(const auto api, values.choice("api"));
    options.grants_store = api.has_value();
    if (options.grants_store)
        options.server.second_port = ollama_port;
    const auto chosen =
        std::ranges::find(requested_choices, requested.value_or(options.grants_store ? "stored" : "served"));
    options.requested = static_cast<RequestedModels>(chosen - requested_choices.begin());
    if (options.models.empty() && options.models_folder.empty())
        options.models.emplace_back(store::demo_name);
    if (options.names.size() > options.models.size())
        return invalid_argument("there are more --alias than models");
    ETNA_CHECK(read_server(values, options.server));
    ETNA_CHECK(read_key_files(values, options.server.service.access));
    options.server.service.answers_at_once = options.model.executor.sequences_max;
    ETNA_TRY(options.server.persistence, read_store(values));
    ETNA_TRY(options.kv_events, read_kv_events(values));
    ETNA_CHECK(read_tracing(values, options.server));
    ETNA_CHECK(read_page(values, options));
    // Refuse requests with more answers than can run and wait at once.
    uint32_t& answers_max = options.server.service.limits.answers_max;
    answers_max =
        std::min(answers_max, options.model.executor.sequences_max + options.model.executor.queue_max);
    ETNA_TRY(const bool verbose, values.flag("verbose"));
    options.verbosity = verbose ? Verbosity::verbose : Verbosity::quiet;
    return options;
}

Command serve_command_line() {
    static const std::vector<Option> options = joined(
        {serve_template_options, hub_options(), device_options(), speculation_options(DraftsBy::server),
         server_options, store_options(), connection_options(), kv_events_options()});
    return {
        .name = "serve",
        .summary = "serve models over HTTP with OpenAI's API",
        .description =
            "Serves models over HTTP: /v1/chat/completions with streams, tools and reasoning, "
            "/v1/completions, /v1/models, /metrics for Prometheus, /health; --routes lists all routes. "
            "Programs written for OpenAI's API change only their base URL. The address is printed to "
            "standard output as one line; standard error gets one line per request.\n\n"
            "A model is loaded when it is first requested, under the name of its file. Only this machine "
            "is served unless --host is given. SIGTERM, SIGHUP or Ctrl-C drains the server: new requests are "
            "refused, running ones may finish within --drain-timeout.",
        .positionals = serve_positionals,
        .options = options,
        .examples = serve_examples,
        .compat = all_compat_serve};
}

} // namespace etna::cli

#pragma once

#include "cli/options/table/connection.hpp"
#include "cli/options/table/foreign.hpp"
#include "cli/options/table/generation.hpp"
#include "cli/options/table/search.hpp"
#include "cli/options/table/store.hpp"

#include <array>

// The command line of `etna serve`.
namespace etna::cli::table {

inline constexpr double port_max = 65535;
inline constexpr double parallel_max = 256;
inline constexpr double batch_tokens_min = 16;
inline constexpr double batch_tokens_max = 4096;
inline constexpr double seconds_max = 86400;
inline constexpr double choices_max = 128;
inline constexpr double queue_max = 65536;

inline constexpr std::array serve_positionals = {
    Positional{.name = "MODEL",
               .description =
                   "as for `etna run`, any number of them; `demo` where there is none and no --models-dir",
               .brief = "as for `etna run`, any number of them",
               .presence = Presence::optional,
               .completion = Completion::models,
               .repeat = Repeat::collect},
};

inline constexpr std::array server_options = {
    Option{.name = "host",
           .value = "ADDRESS",
           .kind = Kind::text,
           .default_text = "127.0.0.1",
           .description = "the address to listen on; 0.0.0.0 is all of this machine's",
           .brief = "the address to listen on; 0.0.0.0 is all of them",
           .category = Category::server},
    Option{.name = "port",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, port_max},
           .default_text = "8080",
           .description = "the port to listen on; 0 picks one that is free",
           .brief = "the port to listen on, 8080 where it is absent",
           .category = Category::server},
    Option{.name = "models-dir",
           .value = "FOLDER",
           .kind = Kind::text,
           .description = "serve every model in this folder too; files may come and go",
           .brief = "serve every model in this folder too",
           .category = Category::server},
    Option{.name = "models-max",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, parallel_max},
           .default_text = "as many as memory holds",
           .description =
               "models in memory at a time; the one that was used least recently leaves as soon as "
               "nobody uses it, and who wants another waits for that",
           .category = Category::server},
    Option{.name = "alias",
           .value = "NAME,...",
           .kind = Kind::text,
           .description = "serve a MODEL under this name: the first under the first one, and so on; further "
                          "names of the same one stand behind commas",
           .category = Category::server,
           .repeat = Repeat::collect},
    Option{.name = "any-model-name",
           .description = "answer requests for unknown model names with the first model; otherwise they get "
                          "404 model_not_found",
           .category = Category::server},
    Option{.name = "parallel",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, parallel_max},
           .default_text = "16",
           .description = "answers that a model works on at a time; more wait",
           .brief = "answers that a model works on at a time; more wait",
           .category = Category::server},
    Option{.name = "batch-tokens",
           .value = "N",
           .kind = Kind::integer,
           .range = {batch_tokens_min, batch_tokens_max},
           .default_text = "512, and 64 on a CPU",
           .description =
               "maximum tokens of one step, of prompts and answers together; more is faster for long prompts "
               "and lets others wait longer",
           .category = Category::server},
    Option{.name = "api-key",
           .value = "KEY",
           .kind = Kind::text,
           .description =
               "ask for this key; may be given several times; clients share the engine fairly by key, or by "
               "address if no key is set: then everybody behind one address is one client",
           .brief = "ask for this key; without keys, everybody behind one address is one client",
           .category = Category::server,
           .repeat = Repeat::collect},
    Option{.name = "api-key-file",
           .value = "FILE",
           .kind = Kind::text,
           .description = "ask for one of the keys in this file, one to a line",
           .brief = "ask for one of the keys in this file",
           .category = Category::server},
    Option{.name = "client-header",
           .value = "NAME",
           .kind = Kind::text,
           .description =
               "share the engine by this header's last element if no key is set, an IPv6 address by its /64 "
               "network; a "
               "reverse proxy sets or appends it; only 256 bytes count, and only from the loopback and "
               "--trusted-proxy",
           .category = Category::server},
    Option{.name = "trusted-proxy",
           .value = "ADDRESS[/BITS]",
           .kind = Kind::text,
           .description = "accept --client-header from this address or network, IPv4 or IPv6; may be given "
                          "several times",
           .category = Category::server,
           .repeat = Repeat::collect},
    Option{
        .name = "allowed-host",
        .value = "NAME",
        .kind = Kind::text,
        .description =
            "answer requests for this name too, at any port, * for all; may be given several times; needed "
            "only where the server is on the loopback and asks for no key",
        .category = Category::server,
        .repeat = Repeat::collect},
    Option{.name = "cors",
           .value = "ORIGIN",
           .kind = Kind::text,
           .description = "let pages of this origin use the server, * all; may be given several times",
           .category = Category::server,
           .repeat = Repeat::collect},
    Option{.name = "queue",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, queue_max},
           .default_text = "256",
           .description = "requests that may wait for a model; more get 429",
           .category = Category::server},
    Option{.name = "n-max",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, choices_max},
           .default_text = "128",
           .description = "the most choices that a request may ask for with n, or have made with best_of",
           .category = Category::server},
    Option{.name = "max-tokens-limit",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, int32_max},
           .description = "default and ceiling of max_tokens on the paths of OpenVINO Model Server, /v3",
           .category = Category::server},
    Option{.name = "ignore-eos-max-tokens",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, int32_max},
           .description = "ceiling of max_tokens, or of its default, for requests with ignore_eos",
           .category = Category::server},
    Option{.name = "tools-strict", .description = tools_strict_text, .category = Category::server},
    Option{.name = "prompt-max",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, int32_max},
           .default_text = "what the context holds",
           .description = "tokens that a prompt may have; longer ones get 400",
           .category = Category::server},
    Option{.name = "request-timeout",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {0, seconds_max},
           .default_text = "0: none",
           .description = "how long a request may take as a whole: an answer that is not done then ends with "
                          "finish_reason `length`, and one that has not begun gets 503",
           .category = Category::server},
    Option{.name = "drain-timeout",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {0, seconds_max},
           .default_text = "30",
           .description = "how long requests at work may go on after SIGTERM",
           .category = Category::server},
    Option{.name = "keep-alive",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {1, seconds_max},
           .default_text = "15",
           .description = "time between comments in a stream while it is silent",
           .category = Category::server},
    Option{.name = "chat-path",
           .value = "PATH",
           .kind = Kind::text,
           .default_text = "/v1/chat/completions",
           .description = "where conversations are answered",
           .category = Category::server},
    Option{.name = "completions-path",
           .value = "PATH",
           .kind = Kind::text,
           .default_text = "/v1/completions",
           .description = "where texts are gone on with",
           .category = Category::server},
    Option{.name = "routes",
           .description = "print every route, and start nothing",
           .brief = "print every route, and start nothing",
           .category = Category::server},
    Option{
        .name = "log-json", .description = "write log lines as JSON objects", .category = Category::output},
    Option{.name = "log-prompts",
           .description = "write what models are given to the log",
           .category = Category::output},
    Option{.name = "verbose",
           .short_name = 'v',
           .description = "say more on standard error",
           .brief = "say more on standard error",
           .category = Category::output},
    help_option,
    help_all_option,
};

inline constexpr std::array serve_template_options = {chat_template_option};
inline constexpr auto serve_speculation_options = speculation_options_of(DraftsBy::server);

inline constexpr auto serve_options =
    joined(serve_template_options, device_options, serve_speculation_options, server_options, store_options,
           connection_options);

inline constexpr auto serve_foreign = joined(foreign_model, foreign_device, foreign_serve);

inline constexpr std::array serve_examples = {
    Example{"etna serve", "the tiny model that is built in, on port 8080"},
    Example{"etna serve ./model.gguf --port 9000", "a model in a file"},
    Example{"etna serve --models-dir ~/models --api-key-file keys.txt --host 0.0.0.0",
            "a folder of models for the network"},
    Example{"etna serve --tls-cert cert.pem --tls-key key.pem", "encrypted, at https://127.0.0.1:8080"},
    Example{"curl http://127.0.0.1:8080/v1/chat/completions -d '{\"messages\": [{\"role\": \"user\", "
            "\"content\": \"What is 34 + 58?\"}]}'",
            "ask it"},
};

} // namespace etna::cli::table

#pragma once

#include "cli/options/option_table.hpp"

#include <array>

// Connection limits and encryption of `etna serve`. Defaults are those of ConnectionOptions and
// ServiceOptions in server/.
namespace etna::cli::table {

inline constexpr double connections_max = 1'000'000;
inline constexpr double requests_max = 32'768; // one thread per request
inline constexpr double timeout_max_s = 86'400;
inline constexpr double kibibyte = 1024;
inline constexpr double mebibyte = 1024 * kibibyte;
inline constexpr double gibibyte = 1024 * mebibyte;
inline constexpr double tebibyte = 1024 * gibibyte;

inline constexpr std::array connection_options = {
    Option{.name = "tls-cert",
           .value = "FILE",
           .kind = Kind::text,
           .description =
               "speak TLS, as https:// asks for, with the certificate in this file in PEM; those that "
               "vouch for it may follow it there",
           .category = Category::server},
    Option{.name = "tls-key",
           .value = "FILE",
           .kind = Kind::text,
           .description =
               "the certificate's private key, in PEM and without a password; may be the same file",
           .category = Category::server},
    Option{.name = "body-max",
           .value = "SIZE",
           .kind = Kind::size,
           .range = {kibibyte, 16 * gibibyte},
           .default_text = "32M",
           .description = "the longest body of a request in bytes, or with K, M or G",
           .category = Category::server},
    Option{.name = "bodies-max",
           .value = "SIZE",
           .kind = Kind::size,
           .range = {mebibyte, tebibyte},
           .default_text = "1G",
           .description = "what all requests may hold together: bodies on their way and until they are "
                          "answered, messages and "
                          "tokens that are made of them, and answers; at least --body-max; more are turned "
                          "away with 503, but never those of 64K and less, and one that alone needs "
                          "more with 413",
           .category = Category::server},
    Option{.name = "header-max",
           .value = "SIZE",
           .kind = Kind::size,
           .range = {kibibyte, mebibyte},
           .default_text = "64K",
           .description =
               "all headers of a request together in bytes, or with K or M; one of them has 8K at most, and "
               "there are 100 at most",
           .category = Category::server},
    Option{.name = "connections-max",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, connections_max},
           .default_text = "4096",
           .description =
               "connections that may be open, idle ones too; one more takes the place of the idlest of the "
               "address that has the most, and is turned away with 503 where all are at work",
           .category = Category::server},
    Option{.name = "connections-per-address",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, connections_max},
           .default_text = "2048",
           .description =
               "connections without a request at work that one address may have, of IPv6 one network of 64 "
               "bits; one more takes the place of its idlest",
           .category = Category::server},
    Option{.name = "requests-max",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, requests_max},
           .default_text = "512",
           .description =
               "requests that may be answered at a time, a thread each, those too that wait for their "
               "model; more are turned away with 503, but for /health, /ready and /live",
           .category = Category::server},
    Option{.name = "header-timeout",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {1, timeout_max_s},
           .default_text = "10",
           .description = "how long a client may take for the headers of a request, and before that for the "
                          "handshake of TLS",
           .category = Category::server},
    Option{.name = "body-timeout",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {1, timeout_max_s},
           .default_text = "30",
           .description =
               "how long a client may take for the body of a request, and a second more for every 16K "
               "that have come",
           .category = Category::server},
    Option{.name = "write-timeout",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {1, timeout_max_s},
           .default_text = "60",
           .description = "how long a client may pause while it reads an answer",
           .category = Category::server},
    Option{.name = "idle-timeout",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {1, timeout_max_s},
           .default_text = "75",
           .description =
               "how long a connection stays open without a request, which the Keep-Alive header of "
               "answers tells",
           .category = Category::server},
};

} // namespace etna::cli::table

#include "cli/options/connection_options.hpp"

#include "core/base/bytes.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr double connections_max = 1'000'000;
constexpr double requests_max = 32'768; // one thread per request
constexpr double tebibyte = 1024 * gibibyte;

constexpr std::array connection_rows = {
    Option{
        .name = "tls-cert",
        .value = "FILE",
        .kind = Kind::text,
        .description =
            "serve https:// with the PEM certificate in this file; intermediate certificates may follow it",
        .file = FileUse::input},
    Option{.name = "tls-key",
           .value = "FILE",
           .kind = Kind::text,
           .description = "private key of the certificate, PEM without a password; may be the same file",
           .file = FileUse::input},
    Option{.name = "body-max",
           .value = "SIZE",
           .kind = Kind::size,
           .range = {kibibyte, 16 * gibibyte},
           .default_text = "32M",
           .description = "maximum request body in bytes, or with K, M or G"},
    Option{.name = "bodies-max",
           .value = "SIZE",
           .kind = Kind::size,
           .range = {mebibyte, tebibyte},
           .default_text = "1G",
           .description = "maximum memory of all requests together; bodies, messages, tokens and answers "
                          "count; at least --body-max; requests beyond it get 503, except those of 64K or "
                          "less, and one that alone needs more gets 413"},
    Option{.name = "header-max",
           .value = "SIZE",
           .kind = Kind::size,
           .range = {kibibyte, mebibyte},
           .default_text = "64K",
           .description =
               "maximum size of a request's headers in bytes, or with K or M; 8K each and at most 100"},
    Option{.name = "connections-max",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, connections_max},
           .default_text = "4096",
           .description = "maximum open connections, idle ones included; one more evicts the longest idle "
                          "connection of the address with the most, or gets 503 if all are busy"},
    Option{.name = "connections-per-address",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, connections_max},
           .default_text = "2048",
           .description = "maximum idle connections of an address, or of an IPv6 /64 network; one more "
                          "evicts the longest idle one"},
    Option{.name = "requests-max",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, requests_max},
           .default_text = "512",
           .description = "maximum concurrent requests, a thread each, those that wait for a model included; "
                          "more get 503, except those of a client with fewer than 16, up to twice N, and "
                          "/health, /ready and /live"},
    Option{.name = "header-timeout",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {1, day_s},
           .default_text = "10",
           .description = "time limit for a request's headers, and before that for the TLS handshake"},
    Option{.name = "body-timeout",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {1, day_s},
           .default_text = "30",
           .description = "time limit for a request's body, plus a second per 16K received"},
    Option{.name = "write-timeout",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {1, day_s},
           .default_text = "60",
           .description = "time that a client may pause while it reads an answer"},
    Option{.name = "idle-timeout",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {1, day_s},
           .default_text = "75",
           .description = "time that an idle connection stays open; sent in the Keep-Alive header"},
};

constexpr auto connection_table = in_category(Category::server, connection_rows);

/// Requires both options or neither: with only one, traffic that should be encrypted would not be.
Status read_tls(const OptionValues& values, server::ConnectionOptions& options) {
    const auto certificate = values.text("tls-cert"), key = values.text("tls-key");
    for (const auto& [name, file] : {std::pair("tls-cert", &certificate), std::pair("tls-key", &key)}) {
        if (*file && (*file)->empty())
            return invalid_argument(fmt::format("--{}: the file name is empty", name));
    }
    if (certificate && !key) {
        return invalid_argument("--tls-cert is given without --tls-key",
                                "give the certificate's private key with --tls-key FILE");
    }
    if (key && !certificate) {
        return invalid_argument("--tls-key is given without --tls-cert",
                                "give the key's certificate with --tls-cert FILE");
    }
    options.tls_certificate = certificate.value_or("");
    options.tls_key = key.value_or("");
    return {};
}

Status read_size(const OptionValues& values, std::string_view name, std::size_t& bytes) {
    ETNA_TRY(const auto given, values.size_bytes(name));
    bytes = given.value_or(bytes);
    return {};
}

Status read_count(const OptionValues& values, std::string_view name, std::size_t& count) {
    ETNA_TRY(const auto given, values.integer(name));
    count = given.value_or(count);
    return {};
}

Status read_timeout(const OptionValues& values, std::string_view name, std::chrono::milliseconds& timeout) {
    ETNA_TRY(const auto given_s, values.integer(name));
    if (given_s)
        timeout = std::chrono::seconds(*given_s);
    return {};
}

} // namespace

std::span<const Option> connection_options() {
    return connection_table;
}

Status read_connection(const OptionValues& values, server::ServerOptions& options) {
    server::ConnectionOptions& connection = options.connection;
    ETNA_CHECK(read_tls(values, connection));
    ETNA_CHECK(read_size(values, "body-max", options.service.body_bytes_max));
    ETNA_CHECK(read_size(values, "bodies-max", connection.bodies_bytes_max));
    connection.bodies_bytes_max = std::max(connection.bodies_bytes_max, options.service.body_bytes_max);
    ETNA_CHECK(read_size(values, "header-max", connection.header_bytes_max));
    ETNA_CHECK(read_count(values, "connections-max", connection.connections_max));
    ETNA_CHECK(read_count(values, "connections-per-address", connection.connections_per_address_max));
    ETNA_CHECK(read_count(values, "requests-max", connection.handlers_max));
    ETNA_CHECK(read_timeout(values, "header-timeout", connection.header_timeout));
    ETNA_CHECK(read_timeout(values, "body-timeout", connection.body_timeout));
    ETNA_CHECK(read_timeout(values, "write-timeout", connection.write_timeout));
    return read_timeout(values, "idle-timeout", connection.idle_timeout);
}

} // namespace etna::cli

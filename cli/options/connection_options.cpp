#include "cli/options/connection_options.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// Requires both options or neither: with only one, traffic that should be encrypted would not be.
Status read_tls(const OptionValues& values, server::ConnectionOptions& options) {
    const auto certificate = values.text("tls-cert"), key = values.text("tls-key");
    for (const auto& [name, file] : {std::pair("tls-cert", &certificate), std::pair("tls-key", &key)}) {
        if (*file && (*file)->empty())
            return Error{ErrorKind::invalid_argument, fmt::format("--{}: the name of a file is empty", name)};
    }
    if (certificate && !key) {
        return Error{ErrorKind::invalid_argument, "--tls-cert is given without --tls-key",
                     "give the certificate's private key with --tls-key FILE"};
    }
    if (key && !certificate) {
        return Error{ErrorKind::invalid_argument, "--tls-key is given without --tls-cert",
                     "give the key's certificate with --tls-cert FILE"};
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

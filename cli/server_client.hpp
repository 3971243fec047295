#pragma once

#include "cli/environment.hpp"
#include "cli/options/option_values.hpp"
#include "cli/running_servers.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <string>
#include <vector>

namespace etna::cli {

/// Which servers a command asks.
struct ServerChoice {
    std::string url;     ///< empty: all that run on this machine
    std::string api_key; ///< empty: none
};

inline constexpr Option url_option = {.name = "url",
                                      .value = "URL",
                                      .kind = Kind::text,
                                      .default_text = "all servers of this user on this machine",
                                      .description = "address of the server, such as http://127.0.0.1:8080",
                                      .category = Category::server};
inline constexpr Option server_key_option = {.name = "api-key",
                                             .value = "KEY",
                                             .kind = Kind::text,
                                             .description = "key of a server that requires one",
                                             .category = Category::server};

/// Errors: invalid_argument (the address is not http or https).
Result<ServerChoice> read_server_choice(const OptionValues& values);

/// Returns the servers to ask.
std::vector<RunningServer> chosen_servers(const ServerChoice& choice, const Environment& environment);

/// Asks a server's HTTP API: GET, or POST with `body` unless it is null. Blocks. Errors: not_found (no answer
/// at the address, or the server's own 404), io (the connection broke, or the answer is not a JSON object),
/// unsupported (its certificate is not trusted), invalid_argument (any other refusal, in the server's words).
Result<Json> ask_server(const RunningServer& server, const std::string& api_key, const std::string& path,
                        const Json& body = nullptr);

} // namespace etna::cli

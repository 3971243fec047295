#include "cli/server_client.hpp"

#include "core/store/http_client.hpp"

#include <chrono>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// Returns the message in an error's body; empty if there is none.
std::string message_of(const Json& answer) {
    if (!answer.is_object() || !answer.contains("error") || !answer["error"].is_object())
        return {};
    const Json& error = answer["error"];
    return error.contains("message") && error["message"].is_string() ? error["message"].get<std::string>()
                                                                     : std::string();
}

Error refusal(const RunningServer& server, int status, const Json& answer) {
    constexpr int unauthorized = 401;
    constexpr int not_found = 404;
    std::string message = message_of(answer);
    if (message.empty())
        message = fmt::format("it answers with status {}", status);
    return {status == not_found ? ErrorKind::not_found : ErrorKind::invalid_argument,
            fmt::format("{}: {}", server.url, message),
            status == unauthorized ? "give its key with --api-key, or in ETNA_API_KEY" : ""};
}

std::string hint_for(const Error& error) {
    if (error.kind == ErrorKind::unsupported)
        return "name the server as its certificate does with --url, and the certificate in SSL_CERT_FILE";
    return "check that `etna serve` runs there";
}

} // namespace

Result<ServerChoice> read_server_choice(const OptionValues& values) {
    ServerChoice choice = {.url = values.text("url").value_or(""),
                           .api_key = values.text("api-key").value_or("")};
    while (choice.url.ends_with('/'))
        choice.url.pop_back();
    if (values.text("url") && store::origin_of(choice.url).empty()) {
        return invalid_argument(fmt::format("--url: `{}` is not an http or https address", choice.url),
                                "write http://HOST:PORT");
    }
    return choice;
}

std::vector<RunningServer> chosen_servers(const ServerChoice& choice, const Environment& environment) {
    if (choice.url.empty())
        return running_servers(runtime_folder(environment.variables));
    const auto certificates = environment.variables.find("SSL_CERT_FILE");
    return {{.url = choice.url,
             .certificate = certificates == environment.variables.end() ? "" : certificates->second}};
}

Result<Json> ask_server(const RunningServer& server, const std::string& api_key, const std::string& path,
                        const Json& body) {
    constexpr int depth_max = 16;
    store::HttpSettings settings;
    settings.token = api_key;
    settings.token_origin = store::origin_of(server.url);
    settings.ca_file = server.certificate;
    settings.connect_limit = std::chrono::seconds(5);
    settings.stall_limit =
        std::chrono::seconds(body.is_null() ? 5 : 30); // the memory is freed before the answer
    store::HttpClient client(std::move(settings));
    auto response = client.exchange(
        {.url = server.url + path, .json_body = body.is_null() ? std::string() : dump_json(body)});
    if (!response) {
        Error error = std::move(response).error();
        error.hint = hint_for(error);
        return error;
    }
    Json answer = parse_json(response->body, depth_max);
    if (response->status / 100 != 2)
        return refusal(server, response->status, answer);
    if (!answer.is_object()) {
        return Error{ErrorKind::io,
                     fmt::format("{}{} answers with something else than JSON", server.url, path),
                     "check that the address is that of an `etna serve`"};
    }
    return answer;
}

} // namespace etna::cli

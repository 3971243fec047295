#include "cli/commands/serve_welcome.hpp"

#include "core/base/json.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::cli {
namespace {

std::string address_at(const ServeOptions& options, const std::string& host, int port) {
    const bool is_encrypted = !options.server.connection.tls_certificate.empty();
    const bool is_ipv6 = host.find(':') != std::string::npos;
    return fmt::format("{}://{}{}{}:{}", is_encrypted ? "https" : "http", is_ipv6 ? "[" : "", host,
                       is_ipv6 ? "]" : "", port);
}

/// Quotes text for a shell in single quotes.
std::string quoted(const std::string& text) {
    std::string quoted;
    for (const char letter : text)
        quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
    return fmt::format("'{}'", quoted);
}

/// Returns the line about the chosen device.
std::string device_line(const runtime::DeviceReports& devices) {
    const auto chosen = std::ranges::find_if(devices, &runtime::DeviceReport::is_chosen);
    if (chosen == devices.end())
        return {};
    const bool is_cpu = chosen->profile.type == vk::DeviceType::cpu;
    return fmt::format("device: {}{}", chosen->profile.name,
                       is_cpu ? ", which is the CPU: a GPU is many times as fast; `etna devices` tells more"
                              : "");
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

std::string keeping_line(const server::Persistence& persistence) {
    if (!persistence.store)
        return "responses: none are kept";
    if (persistence.file.empty())
        return "responses: kept in memory only, until this server ends";
    return fmt::format("responses: kept in {}", persistence.file.string());
}

std::string curl_line(const ServeOptions& options, int port, const std::string& model, bool asks_for_key) {
    const server::ConnectionOptions& connection = options.server.connection;
    std::string host = connection.host;
    if (host == "0.0.0.0")
        host = "127.0.0.1";
    if (host == "::")
        host = "::1";
    Json body = Json::object();
    if (!model.empty())
        body["model"] = model;
    body["messages"] = Json::array({Json({{"role", "user"}, {"content", "Hello!"}})});
    return fmt::format("try: curl{} {}{}{} -d {}", connection.tls_certificate.empty() ? "" : " -k",
                       address_at(options, host, port), options.server.service.chat_path,
                       asks_for_key ? " -H 'Authorization: Bearer KEY'" : "", quoted(dump_json(body)));
}

} // namespace

std::vector<std::string> welcome_lines(const ServeOptions& options, const runtime::DeviceReports& devices,
                                       server::Models& models, const server::Server& server) {
    const auto listed = models.list();
    std::vector<std::string> lines = {device_line(devices)};
    for (const std::string& line : model_lines(listed))
        lines.push_back(line);
    lines.push_back(keeping_line(server.persistence()));
    lines.push_back(curl_line(options, server.port(), listed.size() > 1 ? models.default_name() : "",
                              server.asks_for_key()));
    return lines;
}

std::string address_of(const ServeOptions& options, int port) {
    return address_at(options, options.server.connection.host, port);
}

} // namespace etna::cli

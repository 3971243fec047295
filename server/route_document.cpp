#include "server/route_document.hpp"

#include "server/json.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace etna::server {
namespace {

/// "post /v1/chat/completions" as a name: "post_v1_chat_completions".
std::string operation_id(const Route& route) {
    std::string id = route.method + route.path;
    std::transform(id.begin(), id.end(), id.begin(), [](unsigned char letter) {
        return std::isalnum(letter) != 0 ? static_cast<char>(std::tolower(letter)) : '_';
    });
    return id;
}

Json described(std::string_view text) {
    return {{"description", text}};
}

Json operation(const Route& route) {
    Json responses = {{"200", described("the answer")}, {"4XX", described("the request is wrong")}};
    if (route.access == RouteAccess::guarded) {
        responses["401"] = described("an API key is needed");
        responses["503"] = described("the server is starting or draining");
    }
    Json json = {{"operationId", operation_id(route)},
                 {"summary", route.summary},
                 {"responses", std::move(responses)}};
    std::string_view rest = route.path;
    for (std::size_t open = rest.find('{'); open != std::string_view::npos; open = rest.find('{')) {
        rest.remove_prefix(open + 1);
        Json parameter = {{"name", rest.substr(0, rest.find('}'))},
                          {"in", "path"},
                          {"required", true},
                          {"schema", {{"type", "string"}}}};
        json["parameters"].push_back(std::move(parameter));
    }
    if (route.method == "POST")
        json["requestBody"] = {{"required", true},
                               {"content", {{"application/json", {{"schema", {{"type", "object"}}}}}}}};
    if (route.access == RouteAccess::open)
        json["security"] = Json::array(); // no key required
    return json;
}

} // namespace

std::string route_lines(const std::vector<Route>& routes) {
    std::size_t width = 0;
    for (const Route& route : routes)
        width = std::max(width, route.path.size());
    std::string lines;
    for (const Route& route : routes)
        lines += fmt::format("{:<4} {:<{}}  {}\n", route.method, route.path, width, route.summary);
    return lines;
}

std::string openapi_document(const std::vector<Route>& routes) {
    Json paths = Json::object();
    for (const Route& route : routes) {
        std::string method = route.method;
        std::transform(method.begin(), method.end(), method.begin(),
                       [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
        paths[route.path][method] = operation(route);
    }
    Json key = Json::object();
    key["key"] = Json::array();
    Json keys = Json::array();
    keys.push_back(std::move(key));
    const Json document = {
        {"openapi", "3.1.0"},
        {"info", {{"title", "etna"}, {"version", ETNA_VERSION}}},
        {"security", std::move(keys)},
        {"paths", std::move(paths)},
        {"components", {{"securitySchemes", {{"key", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
    return dump_json_indented(document) + "\n";
}

} // namespace etna::server

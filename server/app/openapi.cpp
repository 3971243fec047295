#include "server/app/openapi.hpp"

#include "server/base/json.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

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

Json description(std::string_view text) {
    return {{"description", text}};
}

Json operation(const Route& route) {
    Json responses = {{"200", description("success")}, {"4XX", description("client error")}};
    if (route.access == RouteAccess::guarded) {
        responses["401"] = description("missing or invalid API key");
        responses["503"] = description("the server is loading its models or draining");
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
    const char* const type = route.body_kind == BodyKind::form ? "multipart/form-data" : "application/json";
    if (route.method == "POST")
        json["requestBody"] = {{"required", true}, {"content", {{type, {{"schema", {{"type", "object"}}}}}}}};
    if (route.access != RouteAccess::guarded)
        json["security"] = Json::array(); // no key required
    return json;
}

} // namespace

std::string openapi_document(const std::vector<Route>& routes) {
    Json paths = Json::object();
    for (const Route& route : routes)
        paths[route.path][to_lower(route.method)] = operation(route);
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

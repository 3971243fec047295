#include "server/endpoints.hpp"

#include "server/json.hpp"
#include "server/openai/endpoints.hpp"
#include "server/route_document.hpp"

namespace etna::server {
namespace {

HttpReply state_reply(int status, std::string_view state) {
    return {.status = status, .body = text_of({{"status", state}}) + "\n"};
}

} // namespace

HttpReply live(Service& /*service*/, const HttpRequest& /*request*/, const Call& /*call*/) {
    return state_reply(200, "ok");
}

HttpReply ready(Service& service, const HttpRequest& /*request*/, const Call& /*call*/) {
    switch (service.state.load()) {
    case ServiceState::starting:
        return state_reply(503, "starting");
    case ServiceState::draining:
        return state_reply(503, "draining");
    case ServiceState::ready:
        break;
    }
    return state_reply(200, "ok");
}

HttpReply show_openapi(Service& service, const HttpRequest& /*request*/, const Call& /*call*/) {
    return {.body = openapi_document(all_routes(service.options))};
}

std::vector<Route> all_routes(const ServiceOptions& options) {
    using openai::Dialect;
    constexpr RouteAccess open = RouteAccess::open;
    constexpr RouteAccess guarded = RouteAccess::guarded;
    constexpr Dialect ovms = Dialect::ovms;
    std::vector<Route> routes = {
        {"POST", options.chat_path, "answers a conversation", openai::chat_completions},
        {"POST", "/chat/completions", "answers a conversation", openai::chat_completions},
        {"POST", "/v3/chat/completions", "answers a conversation, by OpenVINO Model Server's rules",
         openai::chat_completions, guarded, ovms},
        {"POST", options.completions_path, "goes on with a text", openai::completions},
        {"POST", "/completions", "goes on with a text", openai::completions},
        {"POST", "/v3/completions", "goes on with a text, by OpenVINO Model Server's rules",
         openai::completions, guarded, ovms},
        {"POST", "/tokenize", "gives the tokens of a text or conversation", openai::tokenize},
        {"POST", "/detokenize", "gives the text of tokens", openai::detokenize},
        {"POST", "/apply-template", "gives the text that a model gets for a conversation",
         openai::apply_template},
        {"GET", "/v1/models", "lists the models", openai::list_models},
        {"GET", "/models", "lists the models", openai::list_models},
        {"GET", "/v3/models", "lists the models", openai::list_models, guarded, ovms},
        {"GET", "/v1/models/{id}", "tells of one model", openai::show_model},
        {"GET", "/models/{id}", "tells of one model", openai::show_model},
        {"GET", "/v3/models/{id}", "tells of one model", openai::show_model, guarded, ovms},
        {"GET", "/dynamo/alpha/list-models",
         "lists the models with endpoint, context and whether they are loaded", openai::list_models_dynamo},
        {"GET", "/health", "whether requests are taken", ready, open},
        {"GET", "/ready", "whether requests are taken", ready, open},
        {"GET", "/live", "whether the process lives", live, open},
        {"GET", "/metrics", "figures for Prometheus", show_metrics},
        {"GET", "/openapi.json", "these routes, as an OpenAPI document", show_openapi},
    };
    for (Route& route : routes) {
        if (route.endpoint == openai::chat_completions)
            route.figure = "chat_completions";
        else if (route.endpoint == openai::completions)
            route.figure = "completions";
    }
    return routes;
}

} // namespace etna::server

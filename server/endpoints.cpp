#include "server/endpoints.hpp"

#include "server/json.hpp"
#include "server/openai/endpoints.hpp"

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

HttpReply show_metrics(Service& service, const HttpRequest& /*request*/, const Call& /*call*/) {
    std::vector<Metrics::Gauge> gauges = {{.name = "etna_build_info",
                                           .help = "The version that runs.",
                                           .labels = "version=\"" ETNA_VERSION "\"",
                                           .value = 1}};
    for (const ModelListing& model : service.models.list()) {
        gauges.push_back({.name = "etna_model_loaded",
                          .help = "Whether the model is in memory.",
                          .labels = label_of_model(model.name),
                          .value = model.is_loaded ? 1.0 : 0.0});
    }
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = service.metrics.text(gauges)};
}

std::vector<Route> all_routes(const ServiceOptions& options) {
    using openai::Dialect;
    constexpr RouteAccess open = RouteAccess::open;
    constexpr RouteAccess guarded = RouteAccess::guarded;
    return {
        {"POST", options.chat_path, "answers a conversation", openai::chat_completions},
        {"POST", "/chat/completions", "answers a conversation", openai::chat_completions},
        {"POST", "/v3/chat/completions", "answers a conversation, by OpenVINO Model Server's rules",
         openai::chat_completions, guarded, Dialect::ovms},
        {"GET", "/v1/models", "lists the models", openai::list_models},
        {"GET", "/models", "lists the models", openai::list_models},
        {"GET", "/v3/models", "lists the models", openai::list_models, guarded, Dialect::ovms},
        {"GET", "/v1/models/{id}", "tells of one model", openai::show_model},
        {"GET", "/models/{id}", "tells of one model", openai::show_model},
        {"GET", "/dynamo/alpha/list-models",
         "lists the models with endpoint, context and whether they are loaded", openai::list_models_dynamo},
        {"GET", "/health", "whether requests are taken", ready, open},
        {"GET", "/ready", "whether requests are taken", ready, open},
        {"GET", "/live", "whether the process lives", live, open},
        {"GET", "/metrics", "figures for Prometheus", show_metrics},
    };
}

} // namespace etna::server

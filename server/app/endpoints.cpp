#include "server/app/endpoints.hpp"

#include "server/api/persistence.hpp"
#include "server/app/operator_endpoints.hpp"
#include "server/batch/endpoints.hpp"
#include "server/faces/anthropic/endpoints.hpp"
#include "server/faces/anthropic/errors.hpp"
#include "server/faces/llamacpp/endpoints.hpp"
#include "server/faces/ollama/endpoints.hpp"
#include "server/faces/ollama/errors.hpp"
#include "server/faces/openai/endpoints.hpp"
#include "server/faces/rerank/endpoints.hpp"
#include "server/faces/responses/dialect.hpp"
#include "server/faces/responses/endpoints.hpp"
#include "server/faces/responses/rerun.hpp"
#include "server/page/endpoints.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace etna::server {
namespace {

AnswerServices& answer_services(Service& service) {
    return service;
}

responses::Services responses_services(Service& service) {
    return {.answers = service,
            .running = *service.running_responses,
            .journal = service.journal,
            .exporter = service.exporter};
}

batch::Services batch_services(Service& service) {
    return {.batches = service.batches, .access = service.options.access};
}

OperatorServices operator_services(Service& service) {
    return {.options = service.options,
            .state = service.state,
            .persistence = *service.persistence,
            .metrics = service.metrics,
            .models = service.models,
            .kv_events = service.kv_events,
            .exporter = service.exporter};
}

page::Services page_services(Service& service) {
    return {.answers = service,
            .journal = service.journal,
            .throughput = service.throughput,
            .devices = service.devices,
            .started = service.started};
}

/// Appends the routes of one floor. `services_of`: returns the services that its endpoints take.
template <class Services, class ServicesOf>
void add(std::vector<Route>& routes, std::string_view api, std::vector<RouteOf<Services>> group,
         const ServicesOf& services_of) {
    for (RouteOf<Services>& route : group) {
        routes.push_back({.method = std::move(route.method),
                          .path = std::move(route.path),
                          .summary = std::move(route.summary),
                          .endpoint =
                              [endpoint = std::move(route.endpoint), services_of](
                                  Service& service, const HttpRequest& request, const RoutedRequest& routed) {
                                  auto&& services = services_of(service);
                                  return endpoint(services, request, routed);
                              },
                          .access = route.access,
                          .dialect = route.dialect,
                          .metric_name = std::move(route.metric_name),
                          .write_error = route.write_error,
                          .check_headers = route.check_headers,
                          .body_kind = route.body_kind,
                          .api = api});
    }
}

/// Lets a header choose between OpenAI's and Anthropic's models at the paths that both have.
void share_model_routes(std::vector<Route>& routes) {
    for (const RouteOf<AnswerServices>& anthropics : anthropic::model_routes()) {
        Route& shared = *std::ranges::find(routes, anthropics.path, &Route::path);
        shared.endpoint = [openais = std::move(shared.endpoint), anthropics = anthropics.endpoint](
                              Service& service, const HttpRequest& request, const RoutedRequest& routed) {
            return anthropic::names_version(request) ? anthropics(service, request, routed)
                                                     : openais(service, request, routed);
        };
    }
}

} // namespace

std::span<const ApiSummary> api_summaries() {
    static constexpr std::array summaries = {
        ApiSummary{"OpenAI",
                   "chat completions, completions, Responses, conversations, embeddings, files, batches",
                   "/v1", "OpenAI's SDK and Agents SDK, Codex, Vercel's AI SDK, LlamaIndex, LangChain"},
        ApiSummary{"Anthropic", "Messages", "", "Anthropic's SDK, Claude Code"},
        ApiSummary{"Ollama", "chat, generate, embed, tags, ps, show, pull and more", "",
                   "Ollama's client, LangChain"},
        ApiSummary{"Jina, Cohere, vLLM", "rerank, score", "", "requests of their documentation"},
        ApiSummary{"llama.cpp", "completion, infill, embedding, props, slots, models", "",
                   "tests after those of its server"}};
    return summaries;
}

std::vector<Route> all_routes(const ServiceOptions& options) {
    std::vector<Route> routes;
    add(routes, "OpenAI", openai::routes(options), answer_services);
    share_model_routes(routes);
    add(routes, "", operator_routes(), operator_services);
    add(routes, "OpenAI", openai::stored_chat_routes(), answer_services);
    add(routes, "OpenAI", responses::routes(), responses_services);
    add(routes, "OpenAI", batch::routes(), batch_services);
    for (Route& route : routes)
        route.write_error = write_unrouted_error;
    add(routes, "Anthropic", anthropic::routes(), answer_services);
    add(routes, "Ollama", ollama::routes(), answer_services);
    add(routes, "Jina, Cohere, vLLM", rerank::routes(), answer_services);
    add(routes, "llama.cpp", llamacpp::routes(), answer_services);
    if (options.has_page)
        add(routes, "", page::routes(), page_services);
    return routes;
}

void continue_answers(Service& service) {
    responses::run_pending(responses_services(service));
}

HttpReply write_unrouted_error(const HttpRequest& request, const ApiError& error) {
    if (anthropic::names_version(request))
        return anthropic::write_error(request, error);
    if (ollama::is_path(request.path))
        return ollama::write_error(request, error);
    return responses::write_error(request, error); // without its header, the format of OpenAI's API
}

std::string route_lines(const std::vector<Route>& routes) {
    std::size_t width = 0;
    for (const Route& route : routes)
        width = std::max(width, route.path.size());
    std::string lines;
    const auto add_group = [&](std::string_view api, std::string_view heading) {
        lines += fmt::format("{}{}:\n", lines.empty() ? "" : "\n", heading);
        for (const Route& route : routes) {
            if (route.api == api)
                lines += fmt::format("{:<6} {:<{}}  {}\n", route.method, route.path, width, route.summary);
        }
    };
    for (const ApiSummary& summary : api_summaries())
        add_group(summary.name, summary.name);
    add_group("", "operators");
    return lines;
}

} // namespace etna::server

#include "server/app/endpoints.hpp"

#include "server/api/persistence.hpp"
#include "server/base/json.hpp"
#include "server/batch/endpoints.hpp"
#include "server/faces/anthropic/endpoints.hpp"
#include "server/faces/anthropic/errors.hpp"
#include "server/faces/llamacpp/endpoints.hpp"
#include "server/faces/llamacpp/errors.hpp"
#include "server/faces/ollama/endpoints.hpp"
#include "server/faces/ollama/errors.hpp"
#include "server/faces/openai/endpoints.hpp"
#include "server/faces/rerank/endpoints.hpp"
#include "server/faces/responses/dialect.hpp"
#include "server/faces/responses/endpoints.hpp"
#include "server/faces/responses/rerun.hpp"
#include "server/observe/load_report.hpp"
#include "server/observe/tracing/span_exporter.hpp"
#include "server/page/endpoints.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

// The route table, its OpenAPI document, and the operator's endpoints: health, metrics, front page.
namespace etna::server {
namespace {

HttpReply state_reply(int status, std::string_view state) {
    return {.status = status, .body = dump_json({{"status", state}}) + "\n"};
}

/// As llama.cpp's server while it loads its model: today's form, and the status of older versions.
HttpReply loading_reply() {
    constexpr int unavailable = 503;
    const Json error = {{"code", unavailable}, {"message", loading_message}, {"type", "unavailable_error"}};
    return {.status = unavailable, .body = dump_json({{"error", error}, {"status", "loading model"}}) + "\n"};
}

/// GET /live.
ApiResult<HttpReply> show_liveness(Service& /*service*/, const HttpRequest& /*request*/,
                                   const Call& /*call*/) {
    return state_reply(200, "ok");
}

/// GET /ready and /health: 200, or 503 with the reason. Warns if the store is in memory because its file
/// could not be opened.
ApiResult<HttpReply> show_readiness(Service& service, const HttpRequest& /*request*/, const Call& /*call*/) {
    switch (service.state.load()) {
    case ServiceState::loading:
        return loading_reply();
    case ServiceState::draining:
        return state_reply(503, "draining");
    case ServiceState::ready:
        break;
    }
    Json state = {{"status", "ok"}};
    if (service.persistence->is_memory_fallback) {
        state["warning"] =
            "responses are kept in memory only, until the server ends: their file could not be "
            "opened; another server probably uses it";
    }
    return HttpReply{.body = dump_json(state) + "\n"};
}

/// GET /load.
ApiResult<HttpReply> show_load(Service& service, const HttpRequest& /*request*/, const Call& /*call*/) {
    return HttpReply{.body = dump_json({{"server_load", service.metrics.in_flight()}}) + "\n"};
}

/// GET /version.
ApiResult<HttpReply> show_version(Service& /*service*/, const HttpRequest& /*request*/,
                                  const Call& /*call*/) {
    return HttpReply{.body = dump_json({{"version", ETNA_VERSION}}) + "\n"};
}

/// Contains nothing specific to this server, because no key is required.
constexpr std::string_view front_page = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>etna</title>
<h1>etna</h1>
<p>This is <code>etna serve</code>, a server for language models. It speaks OpenAI's API: set the base URL of a
client to this page's address followed by <code>/v1</code>. It speaks Anthropic's Messages API and Ollama's API, too, at
this address. A browser gets a page to chat with here, unless the server runs with <code>--no-page</code>.</p>
<ul>
<li><a href="/v1/models">/v1/models</a>: the served models
<li><a href="/health">/health</a>: whether the server accepts requests
<li><a href="/openapi.json">/openapi.json</a>: all endpoints
</ul>
<p>If the server was started with a key, all pages but this one and <code>/health</code> require it:
<code>Authorization: Bearer KEY</code>.</p>
</html>
)";

/// Programs that are no browser, and all without the page, get the plain front page.
ApiResult<HttpReply> show_front_page(Service& service, const HttpRequest& request, const Call& call) {
    if (service.options.has_page && page::is_from_browser(request))
        return page::show_document(service, request, call);
    return HttpReply{.headers = {{"content-security-policy", "default-src 'none'"}},
                     .content_type = "text/html; charset=utf-8",
                     .body = std::string(front_page)};
}

ApiResult<HttpReply> show_openapi(Service& service, const HttpRequest& /*request*/, const Call& /*call*/) {
    return HttpReply{.body = openapi_document(all_routes(service.options))};
}

/// A metric of every model, sampled at scrape time; empty if it is not available.
struct ModelMetric {
    std::string_view name;
    std::string_view help;
    std::optional<double> (*value)(const ModelListing& model);
};

template <auto member>
std::optional<double> load_value(const ModelListing& model) {
    return model.load ? std::optional(static_cast<double>((*model.load).*member)) : std::nullopt;
}

template <auto member>
std::optional<double> prioritized_value(const ModelListing& model) {
    return model.load ? std::optional<double>((*model.load).waiting_prioritized.*member) : std::nullopt;
}

template <auto member>
std::optional<double> memory_value(const ModelListing& model) {
    return model.device_memory ? std::optional(static_cast<double>((*model.device_memory).*member))
                               : std::nullopt;
}

std::optional<double> loaded_value(const ModelListing& model) {
    return model.is_loaded ? 1.0 : 0.0;
}

constexpr std::array model_metrics = {
    ModelMetric{"etna_model_loaded", "Whether the model is in memory.", loaded_value},
    ModelMetric{"etna_requests_waiting", "Requests in the engine's queue.",
                load_value<&engine::EngineStats::waiting>},
    ModelMetric{"etna_requests_waiting_raised", "Requests in the engine's queue with a priority below 0.",
                prioritized_value<&engine::PriorityCounts::raised>},
    ModelMetric{"etna_requests_waiting_lowered", "Requests in the engine's queue with a priority above 0.",
                prioritized_value<&engine::PriorityCounts::lowered>},
    ModelMetric{"etna_requests_running", "Requests that the engine has admitted.",
                load_value<&engine::EngineStats::running>},
    ModelMetric{"etna_kv_pages", "Pages of the KV cache.", load_value<&engine::EngineStats::pages_total>},
    ModelMetric{"etna_kv_pages_used", "KV cache pages in use by requests.",
                load_value<&engine::EngineStats::pages_used>},
    ModelMetric{"etna_kv_pages_cached", "KV cache pages that hold reusable prefixes.",
                load_value<&engine::EngineStats::pages_cached>},
    ModelMetric{"etna_preemptions_total", "Requests that were preempted and queued again.",
                load_value<&engine::EngineStats::preemptions>},
    ModelMetric{"etna_device_memory_free_bytes", "Free memory of the model's device.",
                memory_value<&runtime::DeviceMemory::free_bytes>},
    ModelMetric{"etna_device_memory_bytes", "Total memory of the model's device.",
                memory_value<&runtime::DeviceMemory::total_bytes>},
};

/// The batches of events of each model's cache.
void add_kv_events(const kv_events::Publisher& publisher, std::vector<Metrics::Reading>& readings) {
    const auto counts = publisher.counts();
    for (const auto& count : counts) {
        readings.push_back({.name = "etna_kv_event_batches_total",
                            .help = "Published batches of events of the prompt cache.",
                            .labels = label_of_model(count.model),
                            .value = static_cast<double>(count.published)});
    }
    for (const auto& count : counts) {
        readings.push_back({.name = "etna_kv_event_batches_dropped_total",
                            .help =
                                "Batches of events that found the publisher's queue full; AllBlocksCleared "
                                "and all pages followed.",
                            .labels = label_of_model(count.model),
                            .value = static_cast<double>(count.dropped)});
    }
}

/// The state of the collector of traces.
void add_trace_readings(const tracing::SpanExporter& exporter, std::vector<Metrics::Reading>& readings) {
    const tracing::SpanExporter::Counts counts = exporter.counts();
    readings.push_back({.name = "etna_trace_spans_exported_total",
                        .help = "Spans that the collector has accepted.",
                        .labels = {},
                        .value = static_cast<double>(counts.exported)});
    readings.push_back({.name = "etna_trace_spans_dropped_total",
                        .help = "Spans lost, because the collector was away, slow, or refused them.",
                        .labels = {},
                        .value = static_cast<double>(counts.dropped)});
    readings.push_back({.name = "etna_trace_export_failing",
                        .help = "Whether the last export to the collector failed.",
                        .labels = {},
                        .value = counts.is_failing ? 1.0 : 0.0});
}

std::vector<Metrics::Reading> current_readings(const Service& service) {
    const std::vector<ModelListing> models = service.models.list();
    std::vector<Metrics::Reading> readings = {{.name = "etna_build_info",
                                               .help = "The server's version.",
                                               .labels = "version=\"" ETNA_VERSION "\"",
                                               .value = 1}};
    for (const ModelMetric& metric : model_metrics) {
        for (const ModelListing& model : models) {
            if (const auto value = metric.value(model))
                readings.push_back({.name = std::string(metric.name),
                                    .help = std::string(metric.help),
                                    .labels = label_of_model(model.name),
                                    .value = *value});
        }
    }
    for (Metrics::Reading& reading : load_readings(models))
        readings.push_back(std::move(reading));
    if (service.kv_events != nullptr)
        add_kv_events(*service.kv_events, readings);
    if (service.exporter != nullptr)
        add_trace_readings(*service.exporter, readings);
    return readings;
}

ApiResult<HttpReply> show_metrics(Service& service, const HttpRequest& /*request*/, const Call& /*call*/) {
    return HttpReply{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                     .body = service.metrics.text(current_readings(service))};
}

/// Adds the routes under /v1, the root, and /v3.
void add_everywhere(std::vector<Route>& routes, const std::string& metric_name,
                    std::initializer_list<Route> group) {
    for (const char* const root : {"/v1", "", "/v3"}) {
        for (const Route& route : group) {
            Route& added = routes.emplace_back(route);
            added.path = root + route.path;
            added.metric_name = metric_name;
            if (std::string_view(root) == "/v3")
                added.dialect = api::Dialect::ovms;
        }
    }
}

void add_responses(std::vector<Route>& routes) {
    add_everywhere(
        routes, "responses",
        {{"POST", "/responses", "creates a response", responses::create},
         {"POST", "/responses/input_tokens", "counts the input tokens of a response", responses::count_input},
         {"POST", "/responses/compact", "compacts a conversation into one item", responses::compact},
         {"POST", "/responses/{id}/control", "ends the reasoning of a running response", responses::control},
         {"POST", "/responses/{id}/cancel", "cancels a background response", responses::cancel},
         {"GET", "/responses/{id}/input_items", "lists the input items of a response", responses::list_input},
         {"GET", "/responses/{id}", "returns a response or its events", responses::show},
         {"DELETE", "/responses/{id}", "deletes a response", responses::remove}});
    for (Route& route : routes) {
        if (route.metric_name == "responses")
            route.check_headers = responses::check_dialect;
    }
}

void add_stored_chats(std::vector<Route>& routes) {
    add_everywhere(routes, "input_tokens", // first, because the {id} of the next route would match it
                   {{"POST", "/chat/completions/input_tokens", "counts the input tokens of a chat",
                     openai::count_chat}});
    add_everywhere(routes, "control",
                   {{"POST", "/chat/completions/control", "ends the reasoning of a running answer",
                     openai::control_chat}});
    add_everywhere(
        routes, "stored_chats",
        {{"GET", "/chat/completions", "lists the stored chats", openai::list_chats},
         {"GET", "/chat/completions/{id}/messages", "lists the messages of a stored chat's request",
          openai::list_chat_messages},
         {"GET", "/chat/completions/{id}", "returns a stored chat", openai::show_chat},
         {"POST", "/chat/completions/{id}", "changes the metadata of a stored chat", openai::change_chat},
         {"DELETE", "/chat/completions/{id}", "deletes a stored chat", openai::remove_chat}});
}

void add_conversations(std::vector<Route>& routes) {
    add_everywhere(
        routes, "conversations",
        {{"POST", "/conversations", "creates a conversation", responses::create_conversation},
         {"POST", "/conversations/{id}/items", "adds items to a conversation", responses::add_items},
         {"GET", "/conversations/{id}/items", "lists the items of a conversation", responses::list_items},
         {"GET", "/conversations/{id}/items/{item}", "returns one item", responses::show_item},
         {"DELETE", "/conversations/{id}/items/{item}", "removes an item from a conversation",
          responses::remove_item},
         {"GET", "/conversations/{id}", "returns a conversation", responses::show_conversation},
         {"POST", "/conversations/{id}", "changes the metadata of a conversation",
          responses::change_conversation},
         {"DELETE", "/conversations/{id}", "deletes a conversation", responses::remove_conversation}});
}

void add_batches(std::vector<Route>& routes) {
    for (Route route : {
             Route{"POST", "/v1/files", "stores a file for a batch", batch::upload_file},
             Route{"GET", "/v1/files", "lists the files", batch::list_files},
             Route{"GET", "/v1/files/{id}/content", "returns the content of a file", batch::send_file},
             Route{"GET", "/v1/files/{id}", "describes a file", batch::show_file},
             Route{"DELETE", "/v1/files/{id}", "deletes a file", batch::remove_file},
             Route{"POST", "/v1/batches", "answers the lines of a file, with a lower priority",
                   batch::create_batch},
             Route{"GET", "/v1/batches", "lists the batches", batch::list_batches},
             Route{"POST", "/v1/batches/{id}/cancel", "cancels a batch", batch::cancel_batch},
             Route{"GET", "/v1/batches/{id}", "returns a batch with its progress", batch::show_batch},
         }) {
        route.metric_name = route.path.starts_with("/v1/files") ? "files" : "batches";
        if (route.endpoint == batch::upload_file)
            route.body_kind = BodyKind::form;
        routes.push_back(std::move(route));
    }
}

ApiResult<HttpReply> list_models(Service& service, const HttpRequest& request, const Call& call) {
    return anthropic::names_version(request) ? anthropic::list_models(service, request, call)
                                             : openai::list_models(service, request, call);
}

ApiResult<HttpReply> show_model(Service& service, const HttpRequest& request, const Call& call) {
    return anthropic::names_version(request) ? anthropic::show_model(service, request, call)
                                             : openai::show_model(service, request, call);
}

void add_messages(std::vector<Route>& routes) {
    for (Route route :
         {Route{"POST", "/v1/messages", "answers a message, in Anthropic's API", anthropic::create_message},
          Route{"POST", "/v1/messages/count_tokens", "counts the input tokens of a message",
                anthropic::count_tokens}}) {
        route.metric_name = "messages";
        route.write_error = anthropic::write_error;
        routes.push_back(std::move(route));
    }
}

void add_rerank(std::vector<Route>& routes) {
    constexpr std::string_view summary = "ranks documents by their relevance for a query";
    for (const char* path : {"/v1/rerank", "/rerank", "/v1/reranking", "/reranking"}) {
        Route route{"POST", path, std::string(summary), rerank::rerank};
        route.metric_name = "rerank";
        route.write_error = rerank::write_error;
        routes.push_back(std::move(route));
    }
    Route cohere{"POST", "/v2/rerank", std::string(summary) + ", in Cohere's API", rerank::rerank_cohere};
    cohere.metric_name = "rerank";
    cohere.write_error = rerank::write_cohere_error;
    routes.push_back(std::move(cohere));
    for (const char* path : {"/v1/score", "/score"}) {
        Route route{"POST", path, "scores texts against each other", rerank::score};
        route.metric_name = "score";
        routes.push_back(std::move(route));
    }
}

void add_llamacpp(std::vector<Route>& routes) {
    for (Route route : {
             Route{"POST", "/completion", "continues a text, in llama.cpp's API", llamacpp::complete},
             Route{"POST", "/infill", "fills the gap between two texts, in llama.cpp's API",
                   llamacpp::infill},
             Route{"POST", "/embedding", "returns the embeddings of texts, in llama.cpp's API",
                   llamacpp::embed},
             Route{"GET", "/props", "describes a model and its defaults", llamacpp::show_props},
             Route{"POST", "/props", "refused: the server's properties are its operator's",
                   llamacpp::change_props},
             Route{"GET", "/slots", "lists the running answers, with --slots", llamacpp::list_slots},
             Route{"POST", "/slots/{id}", "refused: prompts are cached by their content",
                   llamacpp::change_slot},
             Route{"POST", "/models/load", "loads a model into memory", llamacpp::load_model},
             Route{"POST", "/models/unload", "frees the memory of a model", llamacpp::unload_model},
             Route{"GET", "/lora-adapters", "an empty list", llamacpp::list_adapters},
             Route{"POST", "/lora-adapters", "refused: there are no adapters", llamacpp::change_adapters},
         }) {
        if (route.endpoint == llamacpp::complete) {
            route.metric_name = "completion";
        } else if (route.endpoint == llamacpp::infill) {
            route.metric_name = "infill";
        } else if (route.endpoint == llamacpp::embed) {
            route.metric_name = "embeddings";
        }
        route.write_error = llamacpp::write_error;
        routes.push_back(std::move(route));
    }
}

bool is_for_operators(const Route& route) {
    return route.endpoint == show_readiness || route.endpoint == show_liveness ||
           route.endpoint == show_metrics || route.endpoint == show_load || route.endpoint == show_version ||
           route.endpoint == show_front_page || route.endpoint == show_openapi;
}

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
    constexpr RouteAccess open = RouteAccess::open;
    constexpr RouteAccess guarded = RouteAccess::guarded;
    constexpr api::Dialect ovms = api::Dialect::ovms;
    std::vector<Route> routes = {
        {"POST", options.chat_path, "answers a chat", openai::chat_completions},
        {"POST", "/chat/completions", "answers a chat", openai::chat_completions},
        {"POST", "/v3/chat/completions", "answers a chat, by the rules of OpenVINO Model Server",
         openai::chat_completions, guarded, ovms},
        {"POST", options.completions_path, "continues a text", openai::completions},
        {"POST", "/completions", "continues a text", openai::completions},
        {"POST", "/v3/completions", "continues a text, by the rules of OpenVINO Model Server",
         openai::completions, guarded, ovms},
        {"POST", "/v1/embeddings", "returns the embeddings of texts", openai::embeddings},
        {"POST", "/embeddings", "returns the embeddings of texts", openai::embeddings},
        {"POST", "/v3/embeddings", "returns the embeddings of texts", openai::embeddings, guarded, ovms},
        {"POST", "/tokenize", "returns the tokens of a text or chat", openai::tokenize},
        {"POST", "/detokenize", "returns the text of tokens", openai::detokenize},
        {"POST", "/apply-template", "returns the prompt of a chat", openai::apply_template},
        {"GET", "/tokenizer_info", "describes the tokenizer of a model, in vLLM's API",
         openai::tokenizer_info},
        {"GET", "/v1/models", "lists the models", list_models},
        {"GET", "/models", "lists the models", openai::list_models},
        {"GET", "/v3/models", "lists the models", openai::list_models, guarded, ovms},
        {"GET", "/v1/models/{model}", "describes one model", show_model},
        {"GET", "/models/{model}", "describes one model", openai::show_model},
        {"GET", "/v3/models/{model}", "describes one model", openai::show_model, guarded, ovms},
        {"GET", "/dynamo/alpha/list-models",
         "lists the models with endpoint, context and whether they are loaded", openai::list_models_dynamo},
        {"GET", "/health", "readiness", show_readiness, open},
        {"GET", "/v1/health", "readiness", show_readiness, open},
        {"GET", "/ready", "readiness", show_readiness, open},
        {"GET", "/ping", "readiness, in vLLM's API", show_readiness, open},
        {"POST", "/ping", "readiness, in vLLM's API", show_readiness, open},
        {"GET", "/live", "liveness", show_liveness, open},
        {"GET", "/load", "the number of running requests, in vLLM's API", show_load},
        {"GET", "/version", "the server's version, in vLLM's API", show_version},
        {"GET", "/metrics", "metrics for Prometheus", show_metrics},
        {"GET", "/", "the web page for browsers, a front page for others", show_front_page, open},
        {"GET", "/openapi.json", "these routes as an OpenAPI document", show_openapi},
    };
    for (Route& route : routes) {
        if (route.endpoint == openai::chat_completions) {
            route.metric_name = "chat_completions";
        } else if (route.endpoint == openai::completions) {
            route.metric_name = "completions";
        } else if (route.endpoint == openai::embeddings) {
            route.metric_name = "embeddings";
        }
    }
    add_stored_chats(routes);
    add_responses(routes);
    add_conversations(routes);
    add_batches(routes);
    for (Route& route : routes) {
        route.write_error = write_unrouted_error;
        route.api = is_for_operators(route) ? "" : "OpenAI";
    }
    const auto name_new = [&routes](std::string_view api) {
        for (auto route = routes.rbegin(); route != routes.rend() && route->api.empty(); ++route)
            route->api = api;
    };
    add_messages(routes);
    name_new("Anthropic");
    for (Route& route : ollama::routes())
        routes.push_back(std::move(route));
    name_new("Ollama");
    add_rerank(routes);
    name_new("Jina, Cohere, vLLM");
    add_llamacpp(routes);
    name_new("llama.cpp");
    if (options.has_page)
        std::ranges::move(page::routes(), std::back_inserter(routes));
    return routes;
}

void continue_answers(Service& service) {
    responses::run_pending(service);
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

#include "server/endpoints.hpp"

#include "server/json.hpp"
#include "server/keeping.hpp"
#include "server/openai/endpoints.hpp"
#include "server/responses/endpoints.hpp"
#include "server/route_document.hpp"

namespace etna::server {
namespace {

HttpReply state_reply(int status, std::string_view state) {
    return {.status = status, .body = text_of({{"status", state}}) + "\n"};
}

/// Shown when the server's address is opened in a browser. Contains nothing specific to this server, because
/// no key is required.
constexpr std::string_view front_page = R"(<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>etna</title>
<h1>etna</h1>
<p>This is <code>etna serve</code>, a server for language models. It is made for programs that speak OpenAI's
API: give them this page's address with <code>/v1</code> behind it as their base URL.</p>
<ul>
<li><a href="/v1/models">/v1/models</a>: the models that are served
<li><a href="/health">/health</a>: whether requests are taken
<li><a href="/openapi.json">/openapi.json</a>: everything that can be asked for
</ul>
<p>Where the server was started with a key, all but <code>/health</code> need it:
<code>Authorization: Bearer KEY</code>.</p>
</html>
)";

/// The 200 reply, with warnings for the operator.
HttpReply ready_reply(const Service& service) {
    Json state = {{"status", "ok"}};
    if (service.keeping->is_makeshift) {
        state["warning"] =
            "responses are kept in memory only, until this server ends: the file for them could not be had, "
            "most often because another server has it";
    }
    return {.body = text_of(state) + "\n"};
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
    return ready_reply(service);
}

HttpReply show_front_page(Service& /*service*/, const HttpRequest& /*request*/, const Call& /*call*/) {
    return {.headers = {{"content-security-policy", "default-src 'none'"}},
            .content_type = "text/html; charset=utf-8",
            .body = std::string(front_page)};
}

HttpReply show_openapi(Service& service, const HttpRequest& /*request*/, const Call& /*call*/) {
    return {.body = openapi_document(all_routes(service.options))};
}

namespace {

/// Adds the routes under /v1, the root, and /v3.
void add_everywhere(std::vector<Route>& routes, const std::string& figure,
                    std::initializer_list<Route> group) {
    for (const char* const root : {"/v1", "", "/v3"}) {
        for (const Route& route : group) {
            Route& added = routes.emplace_back(route);
            added.path = root + route.path;
            added.figure = figure;
            if (std::string_view(root) == "/v3")
                added.dialect = openai::Dialect::ovms;
        }
    }
}

void add_responses(std::vector<Route>& routes) {
    add_everywhere(
        routes, "responses",
        {{"POST", "/responses", "makes a response", responses::create},
         {"POST", "/responses/input_tokens", "counts the tokens that a response would read",
          responses::count_input},
         {"POST", "/responses/compact", "makes a conversation into one short item", responses::compact},
         {"POST", "/responses/{id}/cancel", "ends a response that is made in the background",
          responses::cancel},
         {"GET", "/responses/{id}/input_items", "lists the items of a response's request",
          responses::list_input},
         {"GET", "/responses/{id}", "gives a response again, or its events", responses::show},
         {"DELETE", "/responses/{id}", "forgets a response", responses::remove}});
}

void add_stored_chats(std::vector<Route>& routes) {
    add_everywhere(routes, "input_tokens", // first, because the {id} of the next route would match it
                   {{"POST", "/chat/completions/input_tokens", "counts the tokens that a chat would read",
                     openai::count_chat}});
    add_everywhere(
        routes, "stored_chats",
        {{"GET", "/chat/completions", "lists the chats that were stored", openai::list_chats},
         {"GET", "/chat/completions/{id}/messages", "lists the messages of a stored chat's request",
          openai::list_chat_messages},
         {"GET", "/chat/completions/{id}", "gives a stored chat again", openai::show_chat},
         {"POST", "/chat/completions/{id}", "changes a stored chat's metadata", openai::change_chat},
         {"DELETE", "/chat/completions/{id}", "forgets a stored chat", openai::remove_chat}});
}

void add_conversations(std::vector<Route>& routes) {
    add_everywhere(
        routes, "conversations",
        {{"POST", "/conversations", "begins a conversation", responses::create_conversation},
         {"POST", "/conversations/{id}/items", "adds items to a conversation", responses::add_items},
         {"GET", "/conversations/{id}/items", "lists the items of a conversation", responses::list_items},
         {"GET", "/conversations/{id}/items/{item}", "gives one item", responses::show_item},
         {"DELETE", "/conversations/{id}/items/{item}", "takes an item out of a conversation",
          responses::remove_item},
         {"GET", "/conversations/{id}", "tells of a conversation", responses::show_conversation},
         {"POST", "/conversations/{id}", "changes a conversation's metadata", responses::change_conversation},
         {"DELETE", "/conversations/{id}", "forgets a conversation", responses::remove_conversation}});
}

} // namespace

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
        {"GET", "/v1/models/{model}", "tells of one model", openai::show_model},
        {"GET", "/models/{model}", "tells of one model", openai::show_model},
        {"GET", "/v3/models/{model}", "tells of one model", openai::show_model, guarded, ovms},
        {"GET", "/dynamo/alpha/list-models",
         "lists the models with endpoint, context and whether they are loaded", openai::list_models_dynamo},
        {"GET", "/health", "whether requests are taken", ready, open},
        {"GET", "/ready", "whether requests are taken", ready, open},
        {"GET", "/live", "whether the process lives", live, open},
        {"GET", "/metrics", "figures for Prometheus", show_metrics},
        {"GET", "/", "says to a browser what this is", show_front_page, open},
        {"GET", "/openapi.json", "these routes, as an OpenAPI document", show_openapi},
    };
    for (Route& route : routes) {
        if (route.endpoint == openai::chat_completions) {
            route.figure = "chat_completions";
        } else if (route.endpoint == openai::completions) {
            route.figure = "completions";
        }
    }
    add_stored_chats(routes);
    add_responses(routes);
    add_conversations(routes);
    return routes;
}

} // namespace etna::server

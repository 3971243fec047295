#include "server/faces/openai/endpoints.hpp"

namespace etna::server::openai {

using Routes = std::vector<RouteOf<AnswerServices>>;

Routes routes(const ServiceOptions& options) {
    constexpr RouteAccess guarded = RouteAccess::guarded;
    constexpr api::Dialect ovms = api::Dialect::ovms;
    Routes routes;
    add_routes(routes, "chat_completions",
               {{"POST", options.chat_path, "answers a chat", chat_completions},
                {"POST", "/chat/completions", "answers a chat", chat_completions},
                {"POST", "/v3/chat/completions", "answers a chat, by the rules of OpenVINO Model Server",
                 chat_completions, guarded, ovms}});
    add_routes(routes, "completions",
               {{"POST", options.completions_path, "continues a text", completions},
                {"POST", "/completions", "continues a text", completions},
                {"POST", "/v3/completions", "continues a text, by the rules of OpenVINO Model Server",
                 completions, guarded, ovms}});
    add_under_roots(routes, "embeddings",
                    {{"POST", "/embeddings", "returns the embeddings of texts", embeddings}});
    const Routes others = {
        {"POST", "/tokenize", "returns the tokens of a text or chat", tokenize},
        {"POST", "/detokenize", "returns the text of tokens", detokenize},
        {"POST", "/apply-template", "returns the prompt of a chat", apply_template},
        {"GET", "/tokenizer_info", "describes the tokenizer of a model, in vLLM's API", tokenizer_info},
        {"GET", "/v1/models", "lists the models", list_models},
        {"GET", "/models", "lists the models", list_models},
        {"GET", "/v3/models", "lists the models", list_models, guarded, ovms},
        {"GET", "/v1/models/{model}", "describes one model", show_model},
        {"GET", "/models/{model}", "describes one model", show_model},
        {"GET", "/v3/models/{model}", "describes one model", show_model, guarded, ovms},
        {"GET", "/dynamo/alpha/list-models",
         "lists the models with endpoint, context and whether they are loaded", list_models_dynamo},
    };
    routes.insert(routes.end(), others.begin(), others.end());
    return routes;
}

Routes stored_chat_routes() {
    Routes routes;
    // First, because the {id} of a later route would match it.
    add_under_roots(
        routes, "input_tokens",
        {{"POST", "/chat/completions/input_tokens", "counts the input tokens of a chat", count_chat}});
    add_under_roots(
        routes, "control",
        {{"POST", "/chat/completions/control", "ends the reasoning of a running answer", control_chat}});
    add_under_roots(routes, "stored_chats",
                    {{"GET", "/chat/completions", "lists the stored chats", list_chats},
                     {"GET", "/chat/completions/{id}/messages",
                      "lists the messages of a stored chat's request", list_chat_messages},
                     {"GET", "/chat/completions/{id}", "returns a stored chat", show_chat},
                     {"POST", "/chat/completions/{id}", "changes the metadata of a stored chat", change_chat},
                     {"DELETE", "/chat/completions/{id}", "deletes a stored chat", remove_chat}});
    return routes;
}

} // namespace etna::server::openai

// GET /v1/models, /v1/models/{id} and /dynamo/alpha/list-models.

#include "server/json.hpp"
#include "server/openai/endpoints.hpp"

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

Json model_json(const ModelListing& model) {
    return {{"id", model.name}, {"object", "model"}, {"created", model.created_unix_s}, {"owned_by", "etna"}};
}

HttpReply json_reply(const Json& json) {
    return {.body = text_of(json) + "\n"};
}

} // namespace

HttpReply list_models(Service& service, const HttpRequest& /*request*/, const Call& /*call*/) {
    Json data = Json::array();
    for (const ModelListing& model : service.models.list())
        data.push_back(model_json(model));
    return json_reply({{"object", "list"}, {"data", std::move(data)}});
}

HttpReply show_model(Service& service, const HttpRequest& /*request*/, const Call& call) {
    if (const auto model = service.models.find(call.path_value))
        return json_reply(model_json(*model));
    return reply_of({.status = 404,
                     .message = fmt::format("there is no model `{}`", call.path_value),
                     .param = "model",
                     .code = "model_not_found"});
}

HttpReply list_models_dynamo(Service& service, const HttpRequest& /*request*/, const Call& /*call*/) {
    Json data = Json::array();
    for (const ModelListing& model : service.models.list()) {
        Json endpoints = {service.options.completions_path};
        if (model.has_chat_template)
            endpoints.push_back(service.options.chat_path);
        data.push_back({{"name", model.name},
                        {"type", model.has_chat_template ? Json::array({"chat", "completion"})
                                                         : Json::array({"completion"})},
                        {"endpoint", std::move(endpoints)},
                        {"context", model.context_tokens == 0 ? Json(nullptr) : Json(model.context_tokens)},
                        {"loaded", model.is_loaded}});
    }
    return json_reply({{"object", "list"}, {"data", std::move(data)}});
}

} // namespace etna::server::openai

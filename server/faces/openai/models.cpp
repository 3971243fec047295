// GET /v1/models, /v1/models/{id} and /dynamo/alpha/list-models.

#include "server/api/model_choice.hpp"
#include "server/base/json.hpp"
#include "server/faces/openai/endpoints.hpp"

namespace etna::server::openai {
namespace {

std::string_view load_state(const ModelListing& model) {
    if (model.is_loaded)
        return "loaded";
    return model.is_loading ? "loading" : "unloaded";
}

/// Null: it stays in memory.
Json unloads_in_s(const ModelListing& model) {
    if (!model.unloads_in)
        return nullptr;
    return std::chrono::duration_cast<std::chrono::seconds>(*model.unloads_in).count();
}

/// Device, memory and load of a loaded model; null if the model is not loaded.
Json resident_json(const ModelListing& model) {
    if (!model.load)
        return nullptr;
    return {{"device", model.device},
            {"memory_bytes", model.memory_bytes},
            {"requests_running", model.load->running},
            {"requests_waiting", model.load->waiting},
            {"requests_waiting_raised", model.load->waiting_prioritized.raised},
            {"requests_waiting_lowered", model.load->waiting_prioritized.lowered},
            {"idle_s", model.idle_time.count()},
            {"pinned", model.is_pinned},
            {"unloads_in_s", unloads_in_s(model)}};
}

/// OpenAI's members; the context in tokens by the names of vLLM (`max_model_len`), OpenRouter
/// (`context_length`) and LM Studio (`max_context_length`); llama.cpp's `status`: whether it is loaded; and
/// etna's own. `name` is the model's, or one of its aliases.
Json model_json(const ModelListing& model, const std::string& name) {
    const uint32_t tokens = model.facts.context_tokens;
    const Json context = tokens == 0 ? Json(nullptr) : Json(tokens);
    return {{"id", name},
            {"object", "model"},
            {"created", model.created_unix_s},
            {"owned_by", "etna"},
            {"root", model.name},
            {"max_model_len", context},
            {"context_length", context},
            {"max_context_length", context},
            {"status", {{"value", load_state(model)}}},
            {"etna", resident_json(model)}};
}

Json extended_json(const ModelListing& model, const ServiceOptions& options) {
    Json json = {{"name", model.name}, {"type", Json::array()}, {"endpoint", Json::array()}};
    const uint32_t context = model.facts.context_tokens;
    json["context"] = context == 0 ? Json(nullptr) : Json(context);
    json["loaded"] = model.is_loaded;
    if (model.facts.has_chat_template)
        json["type"].push_back("chat");
    json["type"].push_back("completion");
    json["endpoint"].push_back(options.completions_path);
    if (model.facts.has_chat_template)
        json["endpoint"].push_back(options.chat_path);
    return json;
}

HttpReply json_reply(const Json& json) {
    return {.body = dump_json(json) + "\n"};
}

} // namespace

ApiResult<HttpReply> list_models(AnswerServices& services, const HttpRequest& /*request*/,
                                 const RoutedRequest& /*routed*/) {
    Json data = Json::array();
    for (const ModelListing& model : services.models.list_inspected()) {
        data.push_back(model_json(model, model.name));
        for (const std::string& alias : model.aliases)
            data.push_back(model_json(model, alias));
    }
    return json_reply({{"object", "list"}, {"data", std::move(data)}});
}

ApiResult<HttpReply> show_model(AnswerServices& services, const HttpRequest& /*request*/,
                                const RoutedRequest& routed) {
    services.models.inspect();
    if (const auto model = services.models.find(routed.path_values.front()); model && !model->problem)
        return json_reply(model_json(*model, model->name));
    return api::unknown_model(services, routed.path_values.front(), {});
}

ApiResult<HttpReply> list_models_dynamo(AnswerServices& services, const HttpRequest& /*request*/,
                                        const RoutedRequest& /*routed*/) {
    Json data = Json::array();
    for (const ModelListing& model : services.models.list_inspected())
        data.push_back(extended_json(model, services.options));
    return json_reply({{"object", "list"}, {"data", std::move(data)}});
}

} // namespace etna::server::openai

// GET and POST /props, GET and POST /lora-adapters.

#include "core/generate/model.hpp"
#include "server/api/model_choice.hpp"
#include "server/faces/llamacpp/endpoints.hpp"
#include "server/faces/llamacpp/errors.hpp"
#include "server/faces/llamacpp/model_query.hpp"
#include "server/faces/llamacpp/request.hpp"
#include "server/faces/llamacpp/sampling.hpp"
#include "server/faces/llamacpp/settings.hpp"

#include <string>
#include <utility>

namespace etna::server::llamacpp {
namespace {

Json name_of(const text::Tokenizer& tokenizer, std::optional<TokenId> token) {
    return token ? Json(tokenizer.bytes(*token)) : Json("");
}

/// Adds the members of a model in memory.
void add_loaded(Json& json, const generate::Model& model) {
    const auto format = model.file().chat.find({});
    json["chat_template"] = format ? Json((*format)->chat_template.text()) : Json("");
    const text::Tokenizer& tokenizer = model.file().tokenizer;
    json["bos_token"] = name_of(tokenizer, tokenizer.bos());
    json["eos_token"] = name_of(tokenizer, tokenizer.eos());
    json["default_generation_settings"]["n_ctx"] = model.context_tokens();
    json["total_slots"] = model.engine().limits().sequences_max;
}

/// Returns the default settings of a request; `model` is null if it is not in memory.
Json default_settings(const Models::Handle& model) {
    generate::Request request;
    sampling::Parameters parameters = sampling_defaults;
    if (model != nullptr) {
        generate::fill(request, model->defaults().requests);
        parameters = with_overrides(parameters, model->defaults().recommended_sampling);
    }
    return settings_json(parameters, request, {.echoed = {.samplers = all_samplers()}});
}

} // namespace

ApiResult<HttpReply> show_props(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& /*routed*/) {
    ETNA_TRY(const ModelListing listing, queried_model(services, request));
    const Models::Handle model = services.models.find_loaded(listing.name);
    Json json = {{"default_generation_settings",
                  {{"params", default_settings(model)}, {"n_ctx", listing.facts.context_tokens}}},
                 {"total_slots", services.options.answers_at_once},
                 {"model_alias", listing.name},
                 {"model_path", listing.name}, // file names are not shown to clients
                 {"modalities", {{"vision", false}, {"audio", false}}},
                 {"endpoint_slots", services.options.shows_slots},
                 {"endpoint_props", false},
                 {"endpoint_metrics", true},
                 {"webui", false},
                 {"chat_template", ""},
                 {"bos_token", ""},
                 {"eos_token", ""},
                 {"build_info", "etna-" ETNA_VERSION},
                 {"is_sleeping", model == nullptr}};
    if (model != nullptr)
        add_loaded(json, *model);
    HttpReply reply = {.body = dump_json(json) + "\n"};
    api::report_model(listing.name, reply);
    return reply;
}

ApiResult<HttpReply> change_props(AnswerServices& /*services*/, const HttpRequest& /*request*/,
                                  const RoutedRequest& /*routed*/) {
    return not_supported("this server's properties cannot be changed");
}

ApiResult<HttpReply> list_adapters(AnswerServices& /*services*/, const HttpRequest& /*request*/,
                                   const RoutedRequest& /*routed*/) {
    return HttpReply{.body = "[]\n"};
}

ApiResult<HttpReply> change_adapters(AnswerServices& /*services*/, const HttpRequest& /*request*/,
                                     const RoutedRequest& /*routed*/) {
    return not_supported("LoRA adapters are not supported");
}

} // namespace etna::server::llamacpp

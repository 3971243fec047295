// GET /tokenizer_info, in vLLM's form: the members of a tokenizer_config.json that evaluation programs read.

#include "core/text/tokenizer.hpp"
#include "server/api/active_request.hpp"
#include "server/api/model_choice.hpp"
#include "server/api/pagination.hpp"
#include "server/base/json.hpp"
#include "server/faces/openai/endpoints.hpp"

#include <optional>
#include <string>

namespace etna::server::openai {
namespace {

Json name_of(const text::Tokenizer& tokenizer, std::optional<TokenId> token) {
    return token ? Json(tokenizer.bytes(*token)) : Json(nullptr);
}

Json id_of(std::optional<TokenId> token) {
    return token ? Json(*token) : Json(nullptr);
}

/// Whether the tokenizer begins each text with its begin token.
bool adds_bos(const text::Tokenizer& tokenizer) {
    const auto tokens = tokenizer.encode("", {});
    return tokens && !tokens->empty() && tokenizer.bos() && tokens->front() == *tokenizer.bos();
}

Json info_json(const generate::Model& model) {
    const text::Tokenizer& tokenizer = model.file().tokenizer;
    Json info = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"bos_token", name_of(tokenizer, tokenizer.bos())},
                 {"bos_token_id", id_of(tokenizer.bos())},
                 {"eos_token", name_of(tokenizer, tokenizer.eos())},
                 {"eos_token_id", id_of(tokenizer.eos())},
                 {"add_bos_token", adds_bos(tokenizer)},
                 {"vocab_size", tokenizer.size()},
                 {"model_max_length", model.context_tokens()}};
    if (const auto format = model.file().chat.find({}); format && model.file().chat.has_own())
        info["chat_template"] = (*format)->chat_template.text();
    return info;
}

} // namespace

ApiResult<HttpReply> tokenizer_info(AnswerServices& services, const HttpRequest& request,
                                    const RoutedRequest& /*routed*/) {
    Json named = Json::object();
    if (const auto name = query_value(request, "model"))
        named["model"] = *name;
    ETNA_TRY(const auto name, api::model_of(services, request, named));
    const auto model =
        services.models.acquire(name, [&] { return services.is_aborting || request.is_client_gone(); });
    if (!model) {
        return model.error().kind == ErrorKind::cancelled ? api::cancelled_error(services)
                                                          : api_error(model.error());
    }
    HttpReply reply = {.body = dump_json(info_json(**model)) + "\n"};
    api::report_model(name, reply);
    return reply;
}

} // namespace etna::server::openai

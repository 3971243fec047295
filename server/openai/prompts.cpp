// POST /tokenize, /detokenize and /apply-template: what a model is given, without an answer. The members are
// those of llama.cpp's server and of vLLM, which differ; both are read, and both are answered.

#include "core/base/utf8.hpp"
#include "core/text/detokenizer.hpp"
#include "server/openai/answer.hpp"
#include "server/openai/chat_request.hpp"
#include "server/openai/endpoints.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

struct Asked {
    Json body;
    Models::Handle model;
};

/// The body, and the model that it names, loaded.
std::variant<Asked, ApiError> take(Service& service, const HttpRequest& request) {
    auto body = parse_body(request.body);
    if (auto* error = std::get_if<ApiError>(&body))
        return std::move(*error);
    auto name = model_of(service, std::get<Json>(body));
    if (auto* error = std::get_if<ApiError>(&name))
        return std::move(*error);
    auto model = service.models.acquire(std::get<std::string>(name), request.is_client_gone);
    if (!model)
        return api_error(model.error());
    return Asked{.body = std::get<Json>(std::move(body)), .model = std::move(*model)};
}

HttpReply json_reply(const Json& json) {
    return {.body = text_of(json) + "\n"};
}

/// The conversation of a chat request, as its template writes it.
std::variant<generate::EncodedPrompt, ApiError> render(const Service& service, const Asked& asked,
                                                       const Call& call) {
    auto chat = read_chat(
        asked.body,
        {.dialect = call.dialect, .limits = service.options.limits, .tokenizer = &asked.model->tokenizer()});
    if (auto* error = std::get_if<ApiError>(&chat))
        return std::move(*error);
    auto prompt = generate::encode(*asked.model, std::get<GenerationCall>(chat).requests.front());
    if (!prompt)
        return api_error(prompt.error());
    return std::move(*prompt);
}

std::variant<generate::EncodedPrompt, ApiError> encode_text(Fields& fields,
                                                            const text::Tokenizer& tokenizer) {
    const auto content = fields.text("content"); // llama.cpp
    const auto prompt = fields.text("prompt");   // vLLM
    const bool as_llama = fields.flag("add_special").value_or(false);
    const bool as_vllm = fields.flag("add_special_tokens").value_or(true);
    const bool finds_special = fields.flag("parse_special").value_or(true);
    if (!content && !prompt)
        fields.refuse("content", "is missing; or give `prompt`, or `messages`", "missing_required_parameter");
    if (fields.problem())
        return *fields.problem();
    const bool adds = content ? as_llama : as_vllm;
    auto tokens = tokenizer.encode(
        content ? *content : *prompt,
        {.special = finds_special ? text::SpecialTokens::parse : text::SpecialTokens::literal,
         .bos = adds ? text::AddBos::as_model_says : text::AddBos::never});
    if (!tokens)
        return api_error(tokens.error());
    return generate::EncodedPrompt{.text = {}, .tokens = std::move(*tokens)};
}

/// {"id", "piece"}: the text, or the bytes of what is no whole text.
Json piece_json(const text::Tokenizer& tokenizer, TokenId token) {
    const std::string_view bytes = tokenizer.bytes(token);
    if (valid_utf8_prefix(bytes) == bytes.size())
        return {{"id", token}, {"piece", bytes}};
    Json list = Json::array();
    for (const char byte : bytes)
        list.push_back(static_cast<unsigned char>(byte));
    return {{"id", token}, {"piece", std::move(list)}};
}

} // namespace

HttpReply tokenize(Service& service, const HttpRequest& request, const Call& call) {
    const auto taken = take(service, request);
    if (const auto* error = std::get_if<ApiError>(&taken))
        return reply_of(*error);
    const auto& asked = std::get<Asked>(taken);
    const text::Tokenizer& tokenizer = asked.model->tokenizer();
    Fields fields(asked.body);
    const bool with_pieces = fields.flag("with_pieces").value_or(false);
    if (fields.problem())
        return reply_of(*fields.problem());
    const auto encoded =
        asked.body.contains("messages") ? render(service, asked, call) : encode_text(fields, tokenizer);
    if (const auto* error = std::get_if<ApiError>(&encoded))
        return reply_of(*error);
    const auto& ids = std::get<generate::EncodedPrompt>(encoded).tokens;
    Json tokens = Json::array();
    for (const TokenId token : ids)
        tokens.push_back(with_pieces ? piece_json(tokenizer, token) : Json(token));
    return json_reply({{"tokens", std::move(tokens)},
                       {"count", ids.size()},
                       {"max_model_len", asked.model->context_tokens()}});
}

HttpReply detokenize(Service& service, const HttpRequest& request, const Call& /*call*/) {
    const auto taken = take(service, request);
    if (const auto* error = std::get_if<ApiError>(&taken))
        return reply_of(*error);
    const auto& asked = std::get<Asked>(taken);
    const text::Tokenizer& tokenizer = asked.model->tokenizer();
    Fields fields(asked.body);
    fields.require("tokens");
    const Json* tokens = fields.list("tokens");
    std::vector<TokenId> ids;
    for (const Json& token : tokens == nullptr ? Json::array() : *tokens) {
        if (!token.is_number_unsigned() || token.get<uint64_t>() >= tokenizer.size()) {
            fields.refuse("tokens", fmt::format("must be a list of token ids below {}", tokenizer.size()));
            break;
        }
        ids.push_back(token.get<TokenId>());
    }
    if (fields.problem())
        return reply_of(*fields.problem());
    const std::string text = text::decode(tokenizer, ids, {.control = text::ControlTokens::shown});
    return json_reply({{"content", text}, {"prompt", text}});
}

HttpReply apply_template(Service& service, const HttpRequest& request, const Call& call) {
    const auto taken = take(service, request);
    if (const auto* error = std::get_if<ApiError>(&taken))
        return reply_of(*error);
    const auto rendered = render(service, std::get<Asked>(taken), call);
    if (const auto* error = std::get_if<ApiError>(&rendered))
        return reply_of(*error);
    return json_reply({{"prompt", std::get<generate::EncodedPrompt>(rendered).text}});
}

} // namespace etna::server::openai

// POST /tokenize, /detokenize, /apply-template and /chat/completions/input_tokens: what a model is given,
// without an answer. The members are those of llama.cpp's server and of vLLM, which differ; both are read,
// and both are answered.

#include "core/base/utf8.hpp"
#include "core/text/detokenizer.hpp"
#include "core/text/patience.hpp"
#include "server/openai/answer.hpp"
#include "server/openai/answering.hpp"
#include "server/openai/chat_request.hpp"
#include "server/openai/endpoints.hpp"

#include <functional>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

struct Asked {
    Json body;
    bool is_strict = false;
    std::string model_name;
    Models::Handle model;
    std::function<bool()> is_unwanted; ///< nobody waits for the answer any more
};

ApiError told(const Service& service, const Error& error) {
    return error.kind == ErrorKind::cancelled ? ended_early(service) : api_error(error);
}

/// The body, and the model that it names, loaded.
std::variant<Asked, ApiError> take(Service& service, const HttpRequest& request) {
    auto body = parse_body(request);
    if (auto* error = std::get_if<ApiError>(&body))
        return std::move(*error);
    auto name = model_of(service, std::get<Json>(body));
    if (auto* error = std::get_if<ApiError>(&name))
        return std::move(*error);
    std::function<bool()> is_unwanted = [&] { return service.is_aborting || request.is_client_gone(); };
    auto model = service.models.acquire(std::get<std::string>(name), is_unwanted);
    if (!model)
        return told(service, model.error());
    return Asked{.body = std::get<Json>(std::move(body)),
                 .is_strict = is_strict(request),
                 .model_name = std::get<std::string>(std::move(name)),
                 .model = std::move(*model),
                 .is_unwanted = std::move(is_unwanted)};
}

HttpReply json_reply(const Json& json, const Asked& asked, const Delivery& delivery) {
    HttpReply reply = {.body = text_of(json) + "\n"};
    tell_ignored(delivery, reply);
    tell_model(asked.model_name, reply);
    return reply;
}

/// A prompt, and the members of the body that nobody knows or that have no effect.
struct Encoded {
    generate::EncodedPrompt prompt;
    Delivery delivery = {};
};

/// The conversation of a chat request, as its template writes it.
std::variant<Encoded, ApiError> render(const Service& service, const Asked& asked, const Call& call) {
    auto chat = read_chat(asked.body, {.dialect = call.dialect,
                                       .limits = service.options.limits,
                                       .tokenizer = &asked.model->tokenizer(),
                                       .context_tokens = asked.model->context_tokens()});
    if (auto* error = std::get_if<ApiError>(&chat))
        return std::move(*error);
    GenerationCall& wanted = std::get<GenerationCall>(chat);
    if (auto refusal = refuse_unknown(asked.is_strict, wanted.delivery))
        return std::move(*refusal);
    auto prompt = generate::encode(*asked.model, wanted.requests.front(), asked.is_unwanted);
    if (!prompt)
        return told(service, prompt.error());
    return Encoded{.prompt = std::move(*prompt), .delivery = std::move(wanted.delivery)};
}

/// What is left when all members of a body have been read: a mistake, or what has no effect.
std::variant<Delivery, ApiError> end_of(Fields& fields, bool is_strict) {
    fields.accept({"model"});
    if (fields.problem())
        return *fields.problem();
    Delivery delivery;
    read_ignored(fields, delivery);
    if (auto refusal = refuse_unknown(is_strict, delivery))
        return std::move(*refusal);
    return delivery;
}

std::variant<Encoded, ApiError> encode_text(const Service& service, const Asked& asked, Fields& fields) {
    const auto content = fields.text("content"); // llama.cpp
    const auto prompt = fields.text("prompt");   // vLLM
    const bool as_llama = fields.flag("add_special").value_or(false);
    const bool as_vllm = fields.flag("add_special_tokens").value_or(true);
    const bool finds_special = fields.flag("parse_special").value_or(true);
    if (!content && !prompt)
        fields.refuse("content", "is missing; or give `prompt`, or `messages`", "missing_required_parameter");
    auto end = end_of(fields, asked.is_strict);
    if (auto* error = std::get_if<ApiError>(&end))
        return std::move(*error);
    const bool adds = content ? as_llama : as_vllm;
    auto tokens = asked.model->tokenizer().encode(
        content ? *content : *prompt,
        {.special = finds_special ? text::SpecialTokens::parse : text::SpecialTokens::literal,
         .bos = adds ? text::AddBos::as_model_says : text::AddBos::never,
         .stop_requested = &asked.is_unwanted});
    if (!tokens)
        return told(service, tokens.error());
    return Encoded{.prompt = {.text = {}, .tokens = std::move(*tokens)},
                   .delivery = std::get<Delivery>(std::move(end))};
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
    auto taken = take(service, request);
    if (const auto* error = std::get_if<ApiError>(&taken))
        return reply_of(*error);
    auto& asked = std::get<Asked>(taken);
    const text::Tokenizer& tokenizer = asked.model->tokenizer();
    Fields fields(asked.body);
    const bool with_pieces = fields.flag("with_pieces").value_or(false);
    if (fields.problem())
        return reply_of(*fields.problem());
    const bool is_chat = fields.any("messages") != nullptr;
    if (is_chat)
        asked.body.erase("with_pieces"); // which a chat does not have
    const auto read = is_chat ? render(service, asked, call) : encode_text(service, asked, fields);
    if (const auto* error = std::get_if<ApiError>(&read))
        return reply_of(*error);
    const auto& encoded = std::get<Encoded>(read);
    const auto& ids = encoded.prompt.tokens;
    Json tokens = Json::array();
    text::Patience patience(&asked.is_unwanted);
    for (const TokenId token : ids) {
        if (patience.is_over())
            return reply_of(ended_early(service));
        tokens.push_back(with_pieces ? piece_json(tokenizer, token) : Json(token));
    }
    return json_reply({{"tokens", std::move(tokens)},
                       {"count", ids.size()},
                       {"max_model_len", asked.model->context_tokens()}},
                      asked, encoded.delivery);
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
    const auto end = end_of(fields, asked.is_strict);
    if (const auto* error = std::get_if<ApiError>(&end))
        return reply_of(*error);
    const std::string text = text::decode(tokenizer, ids, {.control = text::ControlTokens::shown});
    return json_reply({{"content", text}, {"prompt", text}}, asked, std::get<Delivery>(end));
}

HttpReply apply_template(Service& service, const HttpRequest& request, const Call& call) {
    const auto taken = take(service, request);
    if (const auto* error = std::get_if<ApiError>(&taken))
        return reply_of(*error);
    const auto& asked = std::get<Asked>(taken);
    const auto rendered = render(service, asked, call);
    if (const auto* error = std::get_if<ApiError>(&rendered))
        return reply_of(*error);
    const auto& encoded = std::get<Encoded>(rendered);
    return json_reply({{"prompt", encoded.prompt.text}}, asked, encoded.delivery);
}

HttpReply count_chat(Service& service, const HttpRequest& request, const Call& call) {
    const auto taken = take(service, request);
    if (const auto* error = std::get_if<ApiError>(&taken))
        return reply_of(*error);
    const auto& asked = std::get<Asked>(taken);
    const auto rendered = render(service, asked, call);
    if (const auto* error = std::get_if<ApiError>(&rendered))
        return reply_of(*error);
    const auto& encoded = std::get<Encoded>(rendered);
    return json_reply({{"object", "response.input_tokens"}, {"input_tokens", encoded.prompt.tokens.size()}},
                      asked, encoded.delivery);
}

} // namespace etna::server::openai

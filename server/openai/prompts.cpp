// POST /tokenize, /detokenize, /apply-template and /chat/completions/input_tokens: model input without
// generation. Accepts and returns the fields of both llama.cpp's server and vLLM, which differ.

#include "core/base/utf8.hpp"
#include "core/text/detokenizer.hpp"
#include "server/openai/answer.hpp"
#include "server/openai/answering.hpp"
#include "server/openai/chat_request.hpp"
#include "server/openai/endpoints.hpp"
#include "server/openai/piecewise.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

struct Asked {
    Json body;
    bool is_strict = false;
    std::string model_name;
    Models::Handle model;
    std::shared_ptr<MemoryReservation> memory; ///< the request's; null: memory is not counted
    generate::PromptBudget costs;
};

ApiError told(const Service& service, const Error& error) {
    return error.kind == ErrorKind::cancelled ? ended_early(service) : api_error(error);
}

/// Parses the body and loads the model that it names.
std::variant<Asked, ApiError> take(Service& service, const HttpRequest& request) {
    auto body = parse_body(request);
    if (auto* error = std::get_if<ApiError>(&body))
        return std::move(*error);
    auto name = model_of(service, std::get<Json>(body));
    if (auto* error = std::get_if<ApiError>(&name))
        return std::move(*error);
    std::function<bool()> is_cancelled = [&] { return service.is_aborting || request.is_client_gone(); };
    auto model = service.models.acquire(std::get<std::string>(name), is_cancelled);
    if (!model)
        return told(service, model.error());
    return Asked{.body = std::get<Json>(std::move(body)),
                 .is_strict = is_strict(request),
                 .model_name = std::get<std::string>(std::move(name)),
                 .model = std::move(*model),
                 .memory = request.memory,
                 .costs = {.is_cancelled = std::move(is_cancelled), .reserve_memory = [&](std::size_t bytes) {
                               return request.reserve_memory(bytes);
                           }}};
}

HttpReply told(const Asked& asked, const Delivery& delivery, Pieces pieces) {
    HttpReply reply = reply_of(std::move(pieces), asked.memory);
    tell_ignored(delivery, reply);
    tell_model(asked.model_name, reply);
    return reply;
}

/// A prompt, and the body's fields that are unknown or without effect.
struct Encoded {
    std::vector<TokenId> tokens;
    Delivery delivery = {};
};

/// Reads a chat request.
std::variant<GenerationCall, ApiError> read_conversation(const Service& service, const Asked& asked,
                                                         const Call& call) {
    auto chat = read_chat(asked.body, {.dialect = call.dialect,
                                       .limits = service.options.limits,
                                       .tokenizer = &asked.model->tokenizer(),
                                       .context_tokens = asked.model->context_tokens()});
    if (auto* error = std::get_if<ApiError>(&chat))
        return std::move(*error);
    if (auto refusal = refuse_unknown(asked.is_strict, std::get<GenerationCall>(chat).delivery))
        return std::move(*refusal);
    return std::get<GenerationCall>(std::move(chat));
}

std::variant<Encoded, ApiError> encode_conversation(const Service& service, const Asked& asked,
                                                    const Call& call) {
    auto chat = read_conversation(service, asked, call);
    if (auto* error = std::get_if<ApiError>(&chat))
        return std::move(*error);
    GenerationCall& wanted = std::get<GenerationCall>(chat);
    auto prompt = generate::encode(*asked.model, wanted.requests.front(), asked.costs);
    if (!prompt)
        return told(service, prompt.error());
    return Encoded{.tokens = std::move(prompt->tokens), .delivery = std::move(wanted.delivery)};
}

/// The result after all fields have been read: the first error, or the fields without effect.
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
         .is_cancelled = &asked.costs.is_cancelled,
         .reserve_memory = &asked.costs.reserve_memory});
    if (!tokens)
        return told(service, tokens.error());
    return Encoded{.tokens = std::move(*tokens), .delivery = std::get<Delivery>(std::move(end))};
}

} // namespace

HttpReply tokenize(Service& service, const HttpRequest& request, const Call& call) {
    auto taken = take(service, request);
    if (const auto* error = std::get_if<ApiError>(&taken))
        return reply_of(*error);
    auto& asked = std::get<Asked>(taken);
    Fields fields(asked.body);
    const bool with_pieces = fields.flag("with_pieces").value_or(false);
    if (fields.problem())
        return reply_of(*fields.problem());
    const bool is_chat = fields.any("messages") != nullptr;
    if (is_chat)
        asked.body.erase("with_pieces"); // not a chat field
    auto read = is_chat ? encode_conversation(service, asked, call) : encode_text(service, asked, fields);
    if (const auto* error = std::get_if<ApiError>(&read))
        return reply_of(*error);
    auto& encoded = std::get<Encoded>(read);
    return told(asked, encoded.delivery, told_tokens(asked.model, std::move(encoded.tokens), with_pieces));
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
    return told(asked, std::get<Delivery>(end), told_text(asked.model, std::move(ids)));
}

HttpReply apply_template(Service& service, const HttpRequest& request, const Call& call) {
    const auto taken = take(service, request);
    if (const auto* error = std::get_if<ApiError>(&taken))
        return reply_of(*error);
    const auto& asked = std::get<Asked>(taken);
    auto chat = read_conversation(service, asked, call);
    if (const auto* error = std::get_if<ApiError>(&chat))
        return reply_of(*error);
    const auto& wanted = std::get<GenerationCall>(chat);
    auto text = generate::render(*asked.model, wanted.requests.front(), asked.costs);
    if (!text)
        return reply_of(told(service, text.error()));
    return told(asked, wanted.delivery, told_prompt(std::move(*text)));
}

HttpReply count_chat(Service& service, const HttpRequest& request, const Call& call) {
    const auto taken = take(service, request);
    if (const auto* error = std::get_if<ApiError>(&taken))
        return reply_of(*error);
    const auto& asked = std::get<Asked>(taken);
    const auto encoded = encode_conversation(service, asked, call);
    if (const auto* error = std::get_if<ApiError>(&encoded))
        return reply_of(*error);
    const auto& [tokens, delivery] = std::get<Encoded>(encoded);
    const Json count = {{"object", "response.input_tokens"}, {"input_tokens", tokens.size()}};
    HttpReply reply = {.body = text_of(count) + "\n"};
    tell_ignored(delivery, reply);
    tell_model(asked.model_name, reply);
    return reply;
}

} // namespace etna::server::openai

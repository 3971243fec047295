// POST /tokenize, /detokenize, /apply-template and /chat/completions/input_tokens: what a model is given,
// without an answer. The members are those of llama.cpp's server and of vLLM, which differ; both are read,
// and both are answered.

#include "core/base/utf8.hpp"
#include "core/text/detokenizer.hpp"
#include "server/openai/answer.hpp"
#include "server/openai/answering.hpp"
#include "server/openai/chat_request.hpp"
#include "server/openai/endpoints.hpp"

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
    std::shared_ptr<MemoryShare> memory; ///< of the request; null: nobody counts
    generate::PromptCosts costs;
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
                 .memory = request.memory,
                 .costs = {.stop_requested = std::move(is_unwanted),
                           .claim_memory = [&](std::size_t bytes) { return request.claim_memory(bytes); }}};
}

/// Takes the next bytes of an answer; false when nobody wants more.
using Put = std::function<bool(std::string_view bytes)>;

/// What writes an answer piece by piece, from no more than it holds.
struct Pieces {
    std::function<void(const Put& put)> write;
    std::size_t bytes = 0; ///< of the answer, about
    std::size_t held = 0;
};

/// A long answer is made while it is sent, so that it is never whole in memory.
HttpReply pieced_reply(const Asked& asked, const Delivery& delivery, Pieces pieces) {
    constexpr std::size_t whole_bytes_max = 256 * 1024;
    constexpr std::size_t piece_bytes = 64 * 1024;
    HttpReply reply;
    tell_ignored(delivery, reply);
    tell_model(asked.model_name, reply);
    if (pieces.bytes <= whole_bytes_max) {
        pieces.write([&](std::string_view bytes) { return reply.body += bytes, true; });
        return reply;
    }
    reply.stream = [memory = asked.memory, pieces = std::move(pieces)](HttpWriter& writer) {
        if (memory != nullptr)
            memory->shrink_to(pieces.held); // the request itself has gone
        std::string waiting;
        bool is_wanted = true;
        pieces.write([&](std::string_view bytes) {
            waiting += bytes;
            if (waiting.size() < piece_bytes)
                return is_wanted;
            is_wanted = is_wanted && writer.write(waiting);
            waiting.clear();
            return is_wanted;
        });
        if (is_wanted)
            writer.write(waiting);
    };
    return reply;
}

/// As it stands in a JSON string; what is no UTF-8 becomes U+FFFD.
std::string escaped(std::string_view text) {
    const std::string quoted = text_of(Json(text));
    return quoted.substr(1, quoted.size() - 2);
}

/// A prompt, and the members of the body that nobody knows or that have no effect.
struct Encoded {
    std::vector<TokenId> tokens;
    Delivery delivery = {};
};

/// What a chat request asks for.
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
         .stop_requested = &asked.costs.stop_requested,
         .claim_memory = &asked.costs.claim_memory});
    if (!tokens)
        return told(service, tokens.error());
    return Encoded{.tokens = std::move(*tokens), .delivery = std::get<Delivery>(std::move(end))};
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

/// {"tokens", "count", "max_model_len"}.
Pieces told_tokens(const Models::Handle& model, std::vector<TokenId> tokens, bool with_pieces) {
    constexpr std::size_t bytes_of_id = 8;
    constexpr std::size_t bytes_of_piece = 32;
    Pieces pieces = {.write = {},
                     .bytes = tokens.size() * (with_pieces ? bytes_of_piece : bytes_of_id),
                     .held = tokens.capacity() * sizeof(TokenId)};
    const auto shared = std::make_shared<const std::vector<TokenId>>(std::move(tokens));
    pieces.write = [model, shared, with_pieces](const Put& put) {
        std::string_view before = R"({"tokens":[)";
        for (const TokenId token : *shared) {
            const std::string item =
                with_pieces ? text_of(piece_json(model->tokenizer(), token)) : fmt::to_string(token);
            if (!put(before) || !put(item))
                return;
            before = ",";
        }
        put(shared->empty() ? before : "");
        put(fmt::format("],\"count\":{},\"max_model_len\":{}}}\n", shared->size(), model->context_tokens()));
    };
    return pieces;
}

/// {"content", "prompt"}: the text of tokens, by both names.
Pieces told_text(const Models::Handle& model, std::vector<TokenId> tokens) {
    Pieces pieces = {.write = {}, .bytes = 0, .held = tokens.capacity() * sizeof(TokenId)};
    for (const TokenId token : tokens)
        pieces.bytes += 2 * model->tokenizer().bytes(token).size();
    const auto shared = std::make_shared<const std::vector<TokenId>>(std::move(tokens));
    pieces.write = [model, shared](const Put& put) {
        for (const std::string_view before : {R"({"content":")", R"(","prompt":")"}) {
            text::Detokenizer detokenizer(model->tokenizer(), {.control = text::ControlTokens::shown});
            bool is_wanted = put(before);
            for (std::size_t i = 0; i < shared->size() && is_wanted; ++i)
                is_wanted = put(escaped(detokenizer.push((*shared)[i])));
            if (!is_wanted || !put(escaped(detokenizer.flush())))
                return;
        }
        put("\"}\n");
    };
    return pieces;
}

/// {"prompt"}, of whole characters at a time.
Pieces told_prompt(std::string text) {
    Pieces pieces = {.write = {}, .bytes = text.size(), .held = text.capacity()};
    const auto shared = std::make_shared<const std::string>(std::move(text));
    pieces.write = [shared](const Put& put) {
        constexpr std::size_t slice_bytes = 64 * 1024;
        constexpr unsigned char kind_of_byte = 0xC0;
        constexpr unsigned char goes_on = 0x80;
        bool is_wanted = put(R"({"prompt":")");
        for (std::string_view rest = *shared; !rest.empty() && is_wanted;) {
            std::size_t end = std::min(rest.size(), slice_bytes);
            while (end < rest.size() && end > 1 &&
                   (static_cast<unsigned char>(rest[end]) & kind_of_byte) == goes_on)
                --end;
            is_wanted = put(escaped(rest.substr(0, end)));
            rest.remove_prefix(end);
        }
        if (is_wanted)
            put("\"}\n");
    };
    return pieces;
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
        asked.body.erase("with_pieces"); // which a chat does not have
    auto read = is_chat ? encode_conversation(service, asked, call) : encode_text(service, asked, fields);
    if (const auto* error = std::get_if<ApiError>(&read))
        return reply_of(*error);
    auto& encoded = std::get<Encoded>(read);
    return pieced_reply(asked, encoded.delivery,
                        told_tokens(asked.model, std::move(encoded.tokens), with_pieces));
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
    return pieced_reply(asked, std::get<Delivery>(end), told_text(asked.model, std::move(ids)));
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
    return pieced_reply(asked, wanted.delivery, told_prompt(std::move(*text)));
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

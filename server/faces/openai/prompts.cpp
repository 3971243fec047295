// POST /tokenize, /detokenize, /apply-template and /chat/completions/input_tokens: model input without
// generation. Accepts and returns the fields of both llama.cpp's server and vLLM, which differ.

#include "core/base/cancel.hpp"
#include "core/base/token.hpp"
#include "core/base/utf8.hpp"
#include "core/text/detokenizer.hpp"
#include "server/api/active_request.hpp"
#include "server/api/model_choice.hpp"
#include "server/api/reply.hpp"
#include "server/api/request_body.hpp"
#include "server/base/json.hpp"
#include "server/faces/openai/endpoints.hpp"
#include "server/faces/openai/generation_request.hpp"
#include "server/models/models.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

/// Consumes the next bytes of a response; returns false to stop.
using Put = std::function<bool(std::string_view bytes)>;

/// A JSON response that is written incrementally, because it may be far larger than its source data.
struct IncrementalReply {
    std::function<void(const Put& put)> write;
    std::size_t bytes = 0;      ///< approximate size of the response
    std::size_t held_bytes = 0; ///< memory that the writer holds
};

/// Escapes text for a JSON string; invalid UTF-8 becomes U+FFFD.
std::string escaped(std::string_view text) {
    const std::string quoted = dump_json(Json(text));
    return quoted.substr(1, quoted.size() - 2);
}

/// {"id", "piece"}: the text, or the bytes if they are not complete UTF-8.
Json piece_json(const text::Tokenizer& tokenizer, TokenId token) {
    const std::string_view bytes = tokenizer.bytes(token);
    if (valid_utf8_prefix(bytes) == bytes.size())
        return {{"id", token}, {"piece", bytes}};
    Json list = Json::array();
    for (const char byte : bytes)
        list.push_back(static_cast<unsigned char>(byte));
    return {{"id", token}, {"piece", std::move(list)}};
}

/// {"tokens", "count", "max_model_len"}; each token is its id, or {"id", "piece"}.
IncrementalReply tokens_reply(const Models::Handle& model, std::vector<TokenId> tokens, bool with_pieces) {
    constexpr std::size_t bytes_of_id = 8;
    constexpr std::size_t bytes_of_piece = 32;
    IncrementalReply reply = {.write = {},
                              .bytes = tokens.size() * (with_pieces ? bytes_of_piece : bytes_of_id),
                              .held_bytes = tokens.capacity() * sizeof(TokenId)};
    const auto shared = std::make_shared<const std::vector<TokenId>>(std::move(tokens));
    reply.write = [model, shared, with_pieces](const Put& put) {
        std::string_view before = R"({"tokens":[)";
        for (const TokenId token : *shared) {
            const std::string item =
                with_pieces ? dump_json(piece_json(model->file().tokenizer, token)) : fmt::to_string(token);
            if (!put(before) || !put(item))
                return;
            before = ",";
        }
        put(shared->empty() ? before : "");
        put(fmt::format("],\"count\":{},\"max_model_len\":{}}}\n", shared->size(), model->context_tokens()));
    };
    return reply;
}

/// {"content", "prompt"}: the text of the tokens, under both names.
IncrementalReply text_reply(const Models::Handle& model, std::vector<TokenId> tokens) {
    IncrementalReply reply = {.write = {}, .bytes = 0, .held_bytes = tokens.capacity() * sizeof(TokenId)};
    for (const TokenId token : tokens)
        reply.bytes += 2 * model->file().tokenizer.bytes(token).size();
    const auto shared = std::make_shared<const std::vector<TokenId>>(std::move(tokens));
    reply.write = [model, shared](const Put& put) {
        for (const std::string_view before : {R"({"content":")", R"(","prompt":")"}) {
            text::Detokenizer detokenizer(model->file().tokenizer, {.control = text::ControlTokens::shown});
            bool is_open = put(before);
            for (std::size_t i = 0; i < shared->size() && is_open; ++i)
                is_open = put(escaped(detokenizer.push((*shared)[i])));
            if (!is_open || !put(escaped(detokenizer.flush())))
                return;
        }
        put("\"}\n");
    };
    return reply;
}

/// {"prompt"}, written in slices of complete characters.
IncrementalReply prompt_reply(std::string text) {
    IncrementalReply reply = {.write = {}, .bytes = text.size(), .held_bytes = text.capacity()};
    const auto shared = std::make_shared<const std::string>(std::move(text));
    reply.write = [shared](const Put& put) {
        constexpr std::size_t slice_bytes = 64 * 1024;
        constexpr unsigned char utf8_type_mask = 0xC0;
        constexpr unsigned char continuation = 0x80;
        bool is_open = put(R"({"prompt":")");
        for (std::string_view rest = *shared; !rest.empty() && is_open;) {
            std::size_t end = std::min(rest.size(), slice_bytes);
            while (end < rest.size() && end > 1 &&
                   (static_cast<unsigned char>(rest[end]) & utf8_type_mask) == continuation)
                --end;
            is_open = put(escaped(rest.substr(0, end)));
            rest.remove_prefix(end);
        }
        if (is_open)
            put("\"}\n");
    };
    return reply;
}

/// Converts to an HTTP reply. A long one is written while it is sent, so that it is never complete in memory;
/// `memory`, which may be null, then shrinks to the writer's size.
HttpReply http_reply(IncrementalReply source, std::shared_ptr<MemoryReservation> memory) {
    constexpr std::size_t complete_bytes_max = 256 * 1024;
    constexpr std::size_t write_bytes = 64 * 1024;
    HttpReply reply;
    if (source.bytes <= complete_bytes_max) {
        source.write([&](std::string_view bytes) { return reply.body += bytes, true; });
        return reply;
    }
    reply.stream = [memory = std::move(memory), source = std::move(source)](HttpWriter& writer) {
        if (memory != nullptr)
            memory->shrink_to(source.held_bytes); // the request itself has been freed
        std::string buffer;
        bool is_open = true;
        source.write([&](std::string_view bytes) {
            buffer += bytes;
            if (buffer.size() < write_bytes)
                return is_open;
            is_open = is_open && writer.write(buffer);
            buffer.clear();
            return is_open;
        });
        if (is_open)
            writer.write(buffer);
    };
    return reply;
}

/// A parsed request and its model.
struct PromptRequest {
    Json body;
    bool is_strict = false;
    std::string model_name;
    Models::Handle model;
    std::shared_ptr<MemoryReservation> memory; ///< the share of the request; null: memory is not counted
    generate::PromptBudget costs;
    api::FileTexts files;
};

ApiError prompt_error(const AnswerServices& services, const Error& error) {
    return error.kind == ErrorKind::cancelled ? api::cancelled_error(services) : api_error(error);
}

/// Parses the body and loads the model that it names.
ApiResult<PromptRequest> read_prompt_request(AnswerServices& services, const HttpRequest& request) {
    ETNA_TRY(auto body, parse_body(request));
    ETNA_TRY(auto name, api::model_of(services, request, body));
    CancelPoll is_cancelled = [&] { return services.is_aborting || request.is_client_gone(); };
    auto model = services.models.acquire(name, is_cancelled, client_of(services.options.access, request));
    if (!model)
        return prompt_error(services, model.error());
    return PromptRequest{
        .body = std::move(body),
        .is_strict = api::is_strict(request),
        .model_name = std::move(name),
        .model = std::move(*model),
        .memory = request.memory,
        .costs = {.is_cancelled = std::move(is_cancelled),
                  .reserve_memory = [&](std::size_t bytes) { return request.reserve_memory(bytes); }},
        .files = api::file_texts(services, request)};
}

HttpReply final_reply(const PromptRequest& prompt, const api::IgnoredMembers& ignored,
                      IncrementalReply source) {
    HttpReply reply = http_reply(std::move(source), prompt.memory);
    api::report_ignored(ignored, reply);
    api::report_model(prompt.model_name, reply);
    return reply;
}

/// A prompt, and the body's fields that are unknown or without effect.
struct EncodedPrompt {
    std::vector<TokenId> tokens;
    api::IgnoredMembers ignored = {};
};

/// Reads a chat request.
ApiResult<api::GenerationCall> read_conversation(const AnswerServices& services, const PromptRequest& prompt,
                                                 const RoutedRequest& routed) {
    ETNA_TRY(auto chat, read_chat(prompt.body, {.dialect = routed.dialect,
                                                .limits = services.options.limits,
                                                .tokenizer = &prompt.model->file().tokenizer,
                                                .context_tokens = prompt.model->context_tokens(),
                                                .files = prompt.files}));
    ETNA_CHECK(api::refuse_unknown(prompt.is_strict, chat.call.ignored));
    return std::move(chat.call);
}

ApiResult<EncodedPrompt> encode_conversation(const AnswerServices& services, const PromptRequest& prompt,
                                             const RoutedRequest& routed) {
    ETNA_TRY(auto generation, read_conversation(services, prompt, routed));
    auto encoded = generate::encode(*prompt.model, generation.requests.front(), prompt.costs);
    if (!encoded)
        return prompt_error(services, encoded.error());
    return EncodedPrompt{.tokens = std::move(encoded->tokens), .ignored = std::move(generation.ignored)};
}

/// The result after all fields have been read: the first error, or the fields without effect.
ApiResult<api::IgnoredMembers> finish_fields(Fields& fields, bool is_strict) {
    fields.accept({"model"});
    ETNA_CHECK(fields.status());
    api::IgnoredMembers ignored = api::ignored_members(fields);
    ETNA_CHECK(api::refuse_unknown(is_strict, ignored));
    return ignored;
}

ApiResult<EncodedPrompt> encode_text(const AnswerServices& services, const PromptRequest& prompt,
                                     Fields& fields) {
    const auto content = fields.text("content"); // llama.cpp
    const auto text = fields.text("prompt");     // vLLM
    const bool adds_as_llama = fields.flag("add_special").value_or(false);
    const bool adds_as_vllm = fields.flag("add_special_tokens").value_or(true);
    const bool finds_special = fields.flag("parse_special").value_or(true);
    if (!content && !text)
        fields.refuse("content", "is missing; or give `prompt`, or `messages`", "missing_required_parameter");
    ETNA_TRY(auto finished, finish_fields(fields, prompt.is_strict));
    const bool adds = content ? adds_as_llama : adds_as_vllm;
    auto tokens = prompt.model->file().tokenizer.encode(
        content ? *content : *text,
        {.special = finds_special ? text::SpecialTokens::parse : text::SpecialTokens::literal,
         .bos = adds ? text::AddBos::as_model_says : text::AddBos::never,
         .is_cancelled = prompt.costs.is_cancelled,
         .reserve_memory = &prompt.costs.reserve_memory});
    if (!tokens)
        return prompt_error(services, tokens.error());
    return EncodedPrompt{.tokens = std::move(*tokens), .ignored = std::move(finished)};
}

} // namespace

ApiResult<HttpReply> tokenize(AnswerServices& services, const HttpRequest& request,
                              const RoutedRequest& routed) {
    ETNA_TRY(auto prompt, read_prompt_request(services, request));
    Fields fields(prompt.body);
    const bool with_pieces = fields.flag("with_pieces").value_or(false);
    ETNA_CHECK(fields.status());
    const bool is_chat = fields.any("messages") != nullptr;
    if (is_chat)
        prompt.body.erase("with_pieces"); // not a chat field
    ETNA_TRY(auto encoded,
             is_chat ? encode_conversation(services, prompt, routed) : encode_text(services, prompt, fields));
    return final_reply(prompt, encoded.ignored,
                       tokens_reply(prompt.model, std::move(encoded.tokens), with_pieces));
}

ApiResult<HttpReply> detokenize(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& /*routed*/) {
    ETNA_TRY(const auto prompt, read_prompt_request(services, request));
    Fields fields(prompt.body);
    fields.require("tokens");
    std::vector<TokenId> ids = api::read_token_list(fields, "tokens", prompt.model->file().tokenizer.size());
    ETNA_TRY(const auto finished, finish_fields(fields, prompt.is_strict));
    return final_reply(prompt, finished, text_reply(prompt.model, std::move(ids)));
}

ApiResult<HttpReply> apply_template(AnswerServices& services, const HttpRequest& request,
                                    const RoutedRequest& routed) {
    ETNA_TRY(const auto prompt, read_prompt_request(services, request));
    ETNA_TRY(const auto generation, read_conversation(services, prompt, routed));
    auto text = generate::render(*prompt.model, generation.requests.front(), prompt.costs);
    if (!text)
        return prompt_error(services, text.error());
    return final_reply(prompt, generation.ignored, prompt_reply(std::move(*text)));
}

ApiResult<HttpReply> count_chat(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& routed) {
    ETNA_TRY(const auto prompt, read_prompt_request(services, request));
    ETNA_TRY(const auto encoded, encode_conversation(services, prompt, routed));
    const auto& [tokens, ignored] = encoded;
    const Json count = {{"object", "response.input_tokens"}, {"input_tokens", tokens.size()}};
    HttpReply reply = {.body = dump_json(count) + "\n"};
    api::report_ignored(ignored, reply);
    api::report_model(prompt.model_name, reply);
    return reply;
}

} // namespace etna::server::openai

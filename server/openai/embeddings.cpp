// POST /v1/embeddings. Source: OpenAI API 2.3.0, CreateEmbeddingRequest.

#include "core/generate/embedding.hpp"
#include "server/api/active_request.hpp"
#include "server/api/model_choice.hpp"
#include "server/fields.hpp"
#include "server/openai/endpoints.hpp"
#include "server/seal.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

constexpr std::size_t inputs_max = 2048; ///< OpenAI's

using Input = decltype(generate::EmbeddingRequest::input);

enum class Encoding : uint8_t { numbers, base64 };

/// A parsed request.
struct EmbeddingsRequest {
    std::vector<Input> inputs;
    std::optional<uint32_t> dimensions;
    Encoding encoding = Encoding::numbers;
    api::IgnoredMembers ignored;
};

/// A text or a non-empty list of token ids; empty if it is neither.
std::optional<Input> input_of(const Json& json, uint32_t vocabulary) {
    if (json.is_string())
        return json.get<std::string>();
    const bool are_tokens =
        json.is_array() && !json.empty() && std::all_of(json.begin(), json.end(), [&](const Json& token) {
            return token.is_number_unsigned() && token.get<uint64_t>() < vocabulary;
        });
    return are_tokens ? std::optional<Input>(json.get<std::vector<TokenId>>()) : std::nullopt;
}

/// Reads a text, token ids, or a list of either.
std::vector<Input> read_inputs(Fields& fields, uint32_t vocabulary) {
    fields.require("input");
    const Json* const given = fields.any("input");
    if (given == nullptr)
        return {};
    if (auto input = input_of(*given, vocabulary))
        return {std::move(*input)};
    if (given->is_array() && given->size() > inputs_max) {
        fields.refuse("input",
                      fmt::format("has {} texts; at most {} are accepted", given->size(), inputs_max),
                      "array_above_max_length");
        return {};
    }
    std::vector<Input> inputs;
    for (std::size_t i = 0; given->is_array() && i < given->size(); ++i) {
        auto input = input_of((*given)[i], vocabulary);
        if (!input) {
            fields.refuse(fmt::format("input[{}]", i),
                          fmt::format("must be a string or a list of token ids below {}", vocabulary),
                          "invalid_type");
            return {};
        }
        inputs.push_back(std::move(*input));
    }
    if (inputs.empty())
        fields.refuse("input", "must be a string, a list of token ids, or a non-empty list of either",
                      "invalid_type");
    return inputs;
}

/// Errors: 400, with the field.
ApiResult<EmbeddingsRequest> read_embeddings(const Json& body, uint32_t vocabulary) {
    Fields fields(body);
    EmbeddingsRequest request;
    request.inputs = read_inputs(fields, vocabulary);
    if (const auto dimensions = fields.integer("dimensions", 1, std::numeric_limits<int32_t>::max()))
        request.dimensions = static_cast<uint32_t>(*dimensions);
    request.encoding =
        static_cast<Encoding>(fields.choice("encoding_format", {"float", "base64"}).value_or(0));
    fields.note({"user"});
    fields.accept({"model"});
    ETNA_CHECK(fields.status());
    request.ignored = api::ignored_members(fields);
    return request;
}

/// The elements as numbers with the digits of a float, or as little-endian bytes in base64.
Json elements_json(const std::vector<float>& values, Encoding encoding) {
    if (encoding == Encoding::base64)
        return base64({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
    Json numbers = Json::array();
    for (const float value : values) {
        const std::string digits = fmt::format("{}", value);
        double number = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
        numbers.push_back(number);
    }
    return numbers;
}

/// {"object", "index", "embedding"}.
Json embedding_json(std::size_t index, const std::vector<float>& values, Encoding encoding) {
    return {{"object", "embedding"}, {"index", index}, {"embedding", elements_json(values, encoding)}};
}

/// The embeddings of all inputs, with the number of their tokens.
struct Embeddings {
    Json data = Json::array();
    uint32_t tokens = 0;
};

/// Embeds the inputs, many of them together. `at`: index of the input that an error is about. Errors: those
/// of generate::Embedder.
Result<Embeddings> embed(api::ActiveRequest& active, EmbeddingsRequest& request,
                         const api::CancelPoll& is_cancelled, std::size_t& at) {
    generate::Embedder embedder(*active.model());
    const generate::PromptBudget budget = active.prompt_budget(is_cancelled);
    constexpr std::size_t digits_max = 13; // of an element, with its comma
    const std::size_t width = request.dimensions.value_or(generate::embedding_dimensions(*active.model()));
    if (!budget.reserve_memory(request.inputs.size() * width * (sizeof(Json) + digits_max)))
        return Error{ErrorKind::out_of_memory, "not enough memory for the embeddings"};
    Embeddings embeddings;
    std::size_t added = 0;
    while (embeddings.data.size() < request.inputs.size()) {
        for (; added < request.inputs.size() && !embedder.is_full(); ++added) {
            at = added;
            ETNA_CHECK(embedder.add({.input = std::move(request.inputs[added]),
                                     .dimensions = request.dimensions,
                                     .cache_salt = active.cache_salt(),
                                     .client = active.client()},
                                    budget));
        }
        at = embeddings.data.size();
        ETNA_TRY(const auto embedding, embedder.next(budget.is_cancelled));
        embeddings.tokens += embedding.tokens;
        embeddings.data.push_back(embedding_json(embeddings.data.size(), embedding.values, request.encoding));
    }
    return embeddings;
}

ApiResult<HttpReply> reply_with_embeddings(api::ActiveRequest& active, const Json& body,
                                           const HttpRequest& request) {
    if (const Status loaded = active.acquire(request.is_client_gone); !loaded)
        return active.report_failure(loaded.error());
    ETNA_TRY(auto parsed, read_embeddings(body, active.model()->tokenizer().size()));
    ETNA_CHECK(api::refuse_unknown(active.is_strict(), parsed.ignored));
    if (active.model()->pooling() == generate::Pooling::rank) {
        return ApiError{
            .message = fmt::format("the model `{}` ranks texts, and has no embeddings", active.model_name()),
            .param = "model",
            .code = "unsupported_model"};
    }
    if (const uint32_t width = generate::embedding_dimensions(*active.model());
        parsed.dimensions.value_or(1) > width) {
        return ApiError{.message = fmt::format("`dimensions` must be from 1 to {} with this model", width),
                        .param = "dimensions",
                        .code = "integer_above_max_value"};
    }
    constexpr int invalid_request = 400;
    const bool is_list = body["input"].is_array() && !body["input"].front().is_number();
    std::size_t at = 0;
    auto embeddings = embed(active, parsed, request.is_client_gone, at);
    if (!embeddings) {
        ApiError error = active.report_failure(embeddings.error());
        if (error.status == invalid_request && !error.param)
            error.param = is_list ? fmt::format("input[{}]", at) : "input";
        return error;
    }
    active.service().metrics.add(active.model_name(), {.prompt = embeddings->tokens});
    HttpReply reply = {
        .body = dump_json({{"object", "list"},
                           {"data", std::move(embeddings->data)},
                           {"model", active.model_name()},
                           {"usage",
                            {{"prompt_tokens", embeddings->tokens}, {"total_tokens", embeddings->tokens}}}}) +
                "\n"};
    api::report_ignored(parsed.ignored, reply);
    return reply;
}

} // namespace

ApiResult<HttpReply> embeddings(Service& service, const HttpRequest& request, const Call& call) {
    ETNA_TRY(const auto body, parse_body(request));
    ETNA_TRY(auto name, api::model_of(service, body));
    api::ActiveRequest active(service, request, call, "embeddings", std::move(name), /*is_streamed=*/false);
    auto result = reply_with_embeddings(active, body, request);
    if (!result)
        active.record_error(result.error());
    HttpReply reply = result ? std::move(*result) : call.write_error(request, result.error());
    if (result)
        active.end(200);
    api::report_model(active.model_name(), reply);
    api::complete_log(active.log(), reply);
    reply.is_counted = true;
    return reply;
}

} // namespace etna::server::openai

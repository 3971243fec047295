// POST /v1/embeddings. Source: OpenAI API 2.3.0, CreateEmbeddingRequest.

#include "server/api/embeddings.hpp"

#include "server/api/answer.hpp"
#include "server/api/model_choice.hpp"
#include "server/api/request_body.hpp"
#include "server/api/sampling_fields.hpp"
#include "server/base/fields.hpp"
#include "server/base/seal.hpp"
#include "server/faces/openai/endpoints.hpp"

#include <algorithm>
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

using Input = api::EmbeddingInput;

enum class Encoding : uint8_t { numbers, base64 };

/// A parsed request.
struct EmbeddingsRequest {
    std::vector<Input> inputs;
    std::optional<uint32_t> dimensions;
    Encoding encoding = Encoding::numbers;
    int32_t priority = 0;
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
    if (given->is_array() && given->size() > api::embedding_inputs_max) {
        fields.refuse(
            "input",
            fmt::format("has {} texts; at most {} are accepted", given->size(), api::embedding_inputs_max),
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
    request.priority = api::read_priority(fields);
    fields.note({"user"});
    fields.accept({"model"});
    ETNA_CHECK(fields.status());
    request.ignored = api::ignored_members(fields);
    return request;
}

/// The elements as numbers, or as little-endian bytes in base64.
Json elements_json(const std::vector<float>& values, Encoding encoding) {
    if (encoding == Encoding::base64)
        return base64({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
    return api::numbers_json(values);
}

/// {"object", "index", "embedding"}.
Json embedding_json(std::size_t index, const std::vector<float>& values, Encoding encoding) {
    return {{"object", "embedding"}, {"index", index}, {"embedding", elements_json(values, encoding)}};
}

ApiResult<HttpReply> reply_with_embeddings(api::ActiveRequest& active, const Json& body,
                                           const HttpRequest& request) {
    if (const Status loaded = active.acquire(request.is_client_gone); !loaded)
        return active.report_failure(loaded.error());
    ETNA_TRY(auto parsed, read_embeddings(body, active.model()->file().tokenizer.size()));
    ETNA_CHECK(api::refuse_unknown(active.is_strict(), parsed.ignored));
    ETNA_CHECK(api::check_embeddings(active, parsed.dimensions));
    Json data = Json::array();
    ETNA_TRY(const uint32_t tokens,
             api::embed(active,
                        {.inputs = std::move(parsed.inputs),
                         .is_list = body["input"].is_array() && !body["input"].front().is_number(),
                         .dimensions = parsed.dimensions,
                         .priority = parsed.priority},
                        request.is_client_gone, [&](const generate::Embedding& embedding) {
                            data.push_back(embedding_json(data.size(), embedding.values, parsed.encoding));
                        }));
    HttpReply reply = {.body = dump_json({{"object", "list"},
                                          {"data", std::move(data)},
                                          {"model", active.model_name()},
                                          {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}}) +
                               "\n"};
    api::report_ignored(parsed.ignored, reply);
    return reply;
}

} // namespace

ApiResult<HttpReply> embeddings(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& routed) {
    ETNA_TRY(const auto body, parse_body(request));
    ETNA_TRY(auto name, api::model_of(services, request, body));
    api::ActiveRequest active(services, request, routed, "embeddings", std::move(name),
                              /*is_streamed=*/false);
    return api::reply_once(active, reply_with_embeddings(active, body, request), request, routed);
}

} // namespace etna::server::openai

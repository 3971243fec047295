// POST /embedding.

#include "server/api/embeddings.hpp"

#include "server/api/answer.hpp"
#include "server/api/model_choice.hpp"
#include "server/api/request_body.hpp"
#include "server/base/fields.hpp"
#include "server/faces/llamacpp/endpoints.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server::llamacpp {
namespace {

constexpr int64_t no_normalisation = -1;
constexpr int64_t euclidean = 2;

/// A parsed request.
struct EmbeddingBody {
    api::EmbeddingCall call;
    int64_t normalisation = euclidean; ///< `embd_normalize`
    api::IgnoredMembers ignored = {};
};

/// Reads a text or a non-empty list of token ids; empty if the value is neither.
std::optional<api::EmbeddingInput> embedding_input(const Json& json, uint32_t vocabulary) {
    if (json.is_string())
        return json.get<std::string>();
    const bool are_tokens =
        json.is_array() && !json.empty() && std::all_of(json.begin(), json.end(), [&](const Json& token) {
            return token.is_number_unsigned() && token.get<uint64_t>() < vocabulary;
        });
    return are_tokens ? std::optional<api::EmbeddingInput>(json.get<std::vector<TokenId>>()) : std::nullopt;
}

/// Reads one text, or a list of texts, from the member `name`.
void read_embedding_inputs(Fields& fields, std::string_view name, uint32_t vocabulary,
                           api::EmbeddingCall& call) {
    call.input_member = name;
    fields.require(name);
    const Json* const given = fields.any(name);
    if (given == nullptr)
        return;
    if (auto input = embedding_input(*given, vocabulary)) {
        call.inputs.push_back(std::move(*input));
        return;
    }
    call.is_list = true;
    const bool is_good_list =
        given->is_array() && !given->empty() && given->size() <= api::embedding_inputs_max;
    for (std::size_t i = 0; is_good_list && i < given->size(); ++i) {
        auto input = embedding_input((*given)[i], vocabulary);
        if (!input)
            break;
        call.inputs.push_back(std::move(*input));
    }
    if (!is_good_list || call.inputs.size() != given->size()) {
        fields.refuse(
            name,
            fmt::format("must be a string, a list of token ids below {}, or a list of 1 to {} of these",
                        vocabulary, api::embedding_inputs_max),
            "invalid_type");
    }
}

ApiResult<EmbeddingBody> read_embedding(const Json& body, uint32_t vocabulary) {
    constexpr int64_t exponent_max = 100;
    Fields fields(body);
    EmbeddingBody parsed;
    const std::string_view name = fields.any("content") != nullptr ? "content" : "input";
    read_embedding_inputs(fields, name, vocabulary, parsed.call);
    parsed.normalisation =
        fields.integer("embd_normalize", no_normalisation, exponent_max).value_or(euclidean);
    parsed.call.normalisation =
        parsed.normalisation == euclidean ? generate::Normalisation::l2 : generate::Normalisation::none;
    fields.choice("encoding_format", {"float"});
    fields.accept({"model"});
    ETNA_CHECK(fields.status());
    parsed.ignored = api::ignored_members(fields);
    return parsed;
}

/// Returns the divisor of a vector for `embd_normalize`: -1: none; 0: scales the largest element to 32760;
/// p >= 1: the p-norm.
double length_of(const std::vector<float>& values, int64_t normalisation) {
    constexpr double largest = 32760;
    const auto p = static_cast<double>(normalisation);
    double sum = 0;
    double max = 0;
    for (const float value : values) {
        const double magnitude = std::abs(double{value});
        max = std::max(max, magnitude);
        sum += normalisation > 0 ? std::pow(magnitude, p) : 0;
    }
    if (normalisation == 0)
        return max / largest;
    return std::pow(sum, 1 / p);
}

std::vector<float> normalised(std::vector<float> values, int64_t normalisation) {
    if (normalisation == no_normalisation || normalisation == euclidean) // core/ applies the Euclidean norm
        return values;
    const double length = length_of(values, normalisation);
    for (float& value : values)
        value = length > 0 ? static_cast<float>(value / length) : 0;
    return values;
}

ApiResult<HttpReply> embeddings_reply(api::ActiveRequest& active, const Json& body,
                                      const HttpRequest& request) {
    if (const Status loaded = active.acquire(request.is_client_gone); !loaded)
        return active.report_failure(loaded.error());
    ETNA_TRY(auto parsed, read_embedding(body, active.model()->file().tokenizer.size()));
    ETNA_CHECK(api::refuse_unknown(active.is_strict(), parsed.ignored));
    ETNA_CHECK(api::check_embeddings(active, {}));
    Json list = Json::array();
    const int64_t normalisation = parsed.normalisation;
    ETNA_CHECK(api::embed(active, std::move(parsed.call), request.is_client_gone,
                          [&](const generate::Embedding& embedding) {
                              Json rows = Json::array();
                              rows.push_back(api::numbers_json(normalised(embedding.values, normalisation)));
                              list.push_back({{"index", list.size()}, {"embedding", std::move(rows)}});
                          }));
    HttpReply reply = {.body = dump_json(list) + "\n"};
    api::report_ignored(parsed.ignored, reply);
    return reply;
}

} // namespace

ApiResult<HttpReply> embed(AnswerServices& services, const HttpRequest& request,
                           const RoutedRequest& routed) {
    ETNA_TRY(const auto body, parse_body(request));
    ETNA_TRY(auto name, api::model_of(services, request, body));
    api::ActiveRequest active(services, request, routed, "embeddings", std::move(name),
                              /*is_streamed=*/false);
    auto result = embeddings_reply(active, body, request);
    return api::reply_once(active, std::move(result), request, routed);
}

} // namespace etna::server::llamacpp

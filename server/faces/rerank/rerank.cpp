// POST /v1/rerank and its other paths, and /v2/rerank.

#include "server/api/answer.hpp"
#include "server/api/model_choice.hpp"
#include "server/api/request_body.hpp"
#include "server/base/fields.hpp"
#include "server/faces/rerank/endpoints.hpp"
#include "server/faces/rerank/member_texts.hpp"
#include "server/faces/rerank/relevance.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace etna::server::rerank {
namespace {

/// Whose request and answer it is.
enum class Form : uint8_t {
    jina,
    cohere,
    tei, ///< Text Embeddings Inference
};

/// A parsed request.
struct RerankRequest {
    ScoreCall call;
    std::size_t top_n = std::numeric_limits<std::size_t>::max();
    bool returns_documents = false;
    api::IgnoredMembers ignored;
};

/// Of Text Embeddings Inference: its own names.
void read_tei_members(Fields& fields, RerankRequest& request) {
    request.call.documents = read_text_list(fields, "texts");
    request.returns_documents = fields.flag("return_text").value_or(false);
    if (fields.flag("raw_scores").value_or(false))
        request.call.activation = Activation::none;
    fields.note({"truncate"});
}

void read_documents(Fields& fields, Form form, RerankRequest& request) {
    request.call.documents = read_text_list(fields, "documents");
    request.returns_documents = fields.flag("return_documents").value_or(form == Form::jina);
}

/// Errors: 400, with the field.
ApiResult<RerankRequest> read_rerank(const Json& body, Form form) {
    constexpr int64_t integer_max = std::numeric_limits<int32_t>::max();
    Fields fields(body);
    RerankRequest request;
    request.call.queries = read_text(fields, "query");
    if (form == Form::tei) {
        read_tei_members(fields, request);
    } else {
        read_documents(fields, form, request);
    }
    if (const auto count = fields.integer("top_n", 1, integer_max))
        request.top_n = static_cast<std::size_t>(*count);
    if (const auto tokens = fields.integer("max_tokens_per_doc", 1, integer_max))
        request.call.document_tokens_max = static_cast<uint32_t>(*tokens);
    if (!fields.flag("use_activation").value_or(true)) // vLLM's
        request.call.activation = Activation::none;
    fields.note({"user", "priority"});
    fields.accept({"model"});
    ETNA_CHECK(fields.status());
    request.ignored = api::ignored_members(fields);
    return request;
}

/// Indices of the documents, the most relevant first; of equal ones the first in the request.
std::vector<std::size_t> ranking(const std::vector<double>& scores, std::size_t count) {
    std::vector<std::size_t> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    order.resize(std::min(order.size(), count));
    return order;
}

Json results_json(const RerankRequest& request, const Scores& scores, Form form) {
    const bool is_tei = form == Form::tei;
    Json results = Json::array();
    for (const std::size_t index : ranking(scores.values, request.top_n)) {
        Json result = {{"index", index}, {is_tei ? "score" : "relevance_score", scores.values[index]}};
        const std::string_view text = request.call.documents.texts[index];
        if (request.returns_documents && is_tei) {
            result["text"] = text;
        } else if (request.returns_documents) {
            result["document"] = {{"text", text}};
        }
        results.push_back(std::move(result));
    }
    return results;
}

/// Cohere's unit of billing: a query with up to 100 documents.
Json billed_units(std::size_t documents) {
    constexpr std::size_t documents_per_unit = 100;
    return {{"search_units", (documents + documents_per_unit - 1) / documents_per_unit}};
}

Json answer_json(const api::ActiveRequest& active, const RerankRequest& request, const Scores& scores,
                 Form form) {
    Json results = results_json(request, scores, form);
    if (form == Form::tei)
        return results;
    const Json units = billed_units(request.call.documents.texts.size());
    if (form == Form::cohere) {
        return {{"id", active.request_id()},
                {"results", std::move(results)},
                {"meta",
                 {{"api_version", {{"version", "2"}}},
                  {"billed_units", units},
                  {"tokens", {{"input_tokens", scores.tokens}}}}}};
    }
    return {{"id", active.request_id()},
            {"object", "list"},
            {"model", active.model_name()},
            {"usage", {{"prompt_tokens", scores.tokens}, {"total_tokens", scores.tokens}}},
            {"results", std::move(results)},
            {"meta", {{"billed_units", units}}}};
}

ApiResult<HttpReply> reply_with_ranking(api::ActiveRequest& active, const Json& body,
                                        const HttpRequest& request, Form form) {
    ETNA_TRY(const RerankRequest parsed, read_rerank(body, form));
    ETNA_CHECK(api::refuse_unknown(active.is_strict(), parsed.ignored));
    if (const Status loaded = active.acquire(request.is_client_gone); !loaded)
        return active.report_failure(loaded.error());
    ETNA_CHECK(check_reranker(active));
    ETNA_TRY(const Scores scores, score_pairs(active, parsed.call, request.is_client_gone));
    HttpReply reply = {.body = dump_json(answer_json(active, parsed, scores, form)) + "\n"};
    api::report_ignored(parsed.ignored, reply);
    return reply;
}

ApiResult<HttpReply> answer(AnswerServices& services, const HttpRequest& request, const RoutedRequest& routed,
                            Form form) {
    ETNA_TRY(const auto body, parse_body(request));
    if (form == Form::jina && body.contains("texts") && !body.contains("documents"))
        form = Form::tei;
    ETNA_TRY(auto name, api::model_of(services, request, body));
    api::ActiveRequest active(services, request, routed, "rerank", std::move(name), /*is_streamed=*/false);
    return api::reply_once(active, reply_with_ranking(active, body, request, form), request, routed);
}

} // namespace

ApiResult<HttpReply> rerank(AnswerServices& services, const HttpRequest& request,
                            const RoutedRequest& routed) {
    return answer(services, request, routed, Form::jina);
}

ApiResult<HttpReply> rerank_cohere(AnswerServices& services, const HttpRequest& request,
                                   const RoutedRequest& routed) {
    return answer(services, request, routed, Form::cohere);
}

} // namespace etna::server::rerank

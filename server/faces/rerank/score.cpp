// POST /v1/score and /score: vLLM's.

#include "server/api/answer.hpp"
#include "server/api/model_choice.hpp"
#include "server/api/request_body.hpp"
#include "server/base/fields.hpp"
#include "server/faces/rerank/endpoints.hpp"
#include "server/faces/rerank/member_texts.hpp"
#include "server/faces/rerank/relevance.hpp"

#include <cstddef>
#include <ctime>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::server::rerank {
namespace {

/// A parsed request.
struct ScoreRequest {
    ScoreCall call;
    api::IgnoredMembers ignored;
};

/// Errors: 400, with the field.
ApiResult<ScoreRequest> read_score(const Json& body) {
    Fields fields(body);
    ScoreRequest request;
    const bool is_search = body.contains("queries") || body.contains("documents");
    ScoreCall& call = request.call;
    call.queries = read_text_or_list(fields, is_search ? "queries" : "text_1");
    call.documents = read_text_or_list(fields, is_search ? "documents" : "text_2");
    const std::size_t queries = call.queries.texts.size();
    const std::size_t documents = call.documents.texts.size();
    if (queries != 1 && queries != documents) {
        fields.refuse(call.queries.member, fmt::format("has {} texts for {} of `{}`; use one, or as many",
                                                       queries, documents, call.documents.member));
    }
    if (!fields.flag("use_activation").value_or(true))
        call.activation = Activation::none;
    fields.note({"user", "priority"});
    fields.accept({"model"});
    ETNA_CHECK(fields.status());
    request.ignored = api::ignored_members(fields);
    return request;
}

Json answer_json(const api::ActiveRequest& active, const Scores& scores) {
    Json data = Json::array();
    for (const double score : scores.values)
        data.push_back({{"index", data.size()}, {"object", "score"}, {"score", score}});
    return {{"id", active.request_id()},
            {"object", "list"},
            {"created", std::time(nullptr)},
            {"model", active.model_name()},
            {"data", std::move(data)},
            {"usage", {{"prompt_tokens", scores.tokens}, {"total_tokens", scores.tokens}}}};
}

ApiResult<HttpReply> reply_with_scores(api::ActiveRequest& active, const Json& body,
                                       const HttpRequest& request) {
    ETNA_TRY(const ScoreRequest parsed, read_score(body));
    ETNA_CHECK(api::refuse_unknown(active.is_strict(), parsed.ignored));
    if (const Status loaded = active.acquire(request.is_client_gone); !loaded)
        return active.report_failure(loaded.error());
    const bool is_reranker = active.model()->defaults().pooling == generate::Pooling::rank;
    ETNA_TRY(const Scores scores, is_reranker ? score_pairs(active, parsed.call, request.is_client_gone)
                                              : score_cosines(active, parsed.call, request.is_client_gone));
    HttpReply reply = {.body = dump_json(answer_json(active, scores)) + "\n"};
    api::report_ignored(parsed.ignored, reply);
    return reply;
}

} // namespace

ApiResult<HttpReply> score(AnswerServices& services, const HttpRequest& request,
                           const RoutedRequest& routed) {
    ETNA_TRY(const auto body, parse_body(request));
    ETNA_TRY(auto name, api::model_of(services, request, body));
    api::ActiveRequest active(services, request, routed, "score", std::move(name), /*is_streamed=*/false);
    return api::reply_once(active, reply_with_scores(active, body, request), request, routed);
}

} // namespace etna::server::rerank

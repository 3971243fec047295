#include "server/faces/rerank/relevance.hpp"

#include "server/api/embeddings.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace etna::server::rerank {
namespace {

const std::string_view& query_of(const ScoreCall& call, std::size_t document) {
    return call.queries.texts[call.queries.texts.size() == 1 ? 0 : document];
}

/// Tokens of a pair. Errors: those of the pair's format, context_exceeded before the rest is tokenized.
Result<std::vector<TokenId>> encode_pair(const generate::Model& model, const ScoreCall& call,
                                         std::size_t index, const generate::PromptBudget& budget) {
    ETNA_TRY(auto tokens, model.file().pair_format.encode(model.file().tokenizer,
                                                          {.query = query_of(call, index),
                                                           .document = call.documents.texts[index],
                                                           .document_tokens_max = call.document_tokens_max},
                                                          budget));
    const uint32_t tokens_max = generate::embedding_tokens_max(model);
    if (tokens.size() <= tokens_max)
        return tokens;
    return Error{ErrorKind::context_exceeded,
                 fmt::format("the query and the document have {} tokens together; the model reads {}",
                             tokens.size(), tokens_max),
                 "shorten the document, or cut it with max_tokens_per_doc"};
}

/// Of a 400: the path of the document that it is about.
ApiError with_path(ApiError error, std::string path) {
    constexpr int invalid_request = 400;
    if (error.status == invalid_request && !error.param)
        error.param = std::move(path);
    return error;
}

ApiResult<std::vector<api::EmbeddingInput>> encode_pairs(api::ActiveRequest& active, const ScoreCall& call,
                                                         const CancelPoll& is_cancelled) {
    const generate::PromptBudget budget = active.prompt_budget(is_cancelled);
    std::vector<api::EmbeddingInput> inputs;
    for (std::size_t i = 0; i < call.documents.texts.size(); ++i) {
        auto tokens = encode_pair(*active.model(), call, i, budget);
        if (!tokens)
            return with_path(active.report_failure(tokens.error()), call.documents.path(i));
        inputs.emplace_back(std::move(*tokens));
    }
    return inputs;
}

double sigmoid(double logit) {
    return 1 / (1 + std::exp(-logit));
}

/// Embeds the texts of a member, at length one.
ApiResult<std::vector<std::vector<float>>> embed_texts(api::ActiveRequest& active, const MemberTexts& texts,
                                                       const CancelPoll& is_cancelled, uint32_t& tokens) {
    api::EmbeddingCall call{.input_member = texts.member, .is_list = texts.is_list};
    for (const std::string_view text : texts.texts)
        call.inputs.emplace_back(std::string(text));
    std::vector<std::vector<float>> vectors;
    ETNA_TRY(const uint32_t read,
             api::embed(active, std::move(call), is_cancelled,
                        [&](const generate::Embedding& embedding) { vectors.push_back(embedding.values); }));
    tokens += read;
    return vectors;
}

} // namespace

std::string MemberTexts::path(std::size_t index) const {
    return is_list ? fmt::format("{}[{}]", member, index) : member;
}

ApiStatus check_reranker(const api::ActiveRequest& active) {
    if (active.model()->defaults().pooling == generate::Pooling::rank)
        return {};
    return ApiError{.message = fmt::format("the model `{}` has no head that ranks documents (its file's "
                                           "pooling_type is not `rank`); name a reranker, or use /v1/score "
                                           "for the cosine of embeddings",
                                           active.model_name()),
                    .param = "model",
                    .code = "unsupported_model"};
}

ApiResult<Scores> score_pairs(api::ActiveRequest& active, const ScoreCall& call,
                              const CancelPoll& is_cancelled) {
    ETNA_TRY(auto inputs, encode_pairs(active, call, is_cancelled));
    const bool is_logit = !active.model()->file().embedding_head.gives_probability();
    Scores scores;
    ETNA_TRY(scores.tokens,
             api::embed(active,
                        {.inputs = std::move(inputs),
                         .input_member = call.documents.member,
                         .is_list = call.documents.is_list},
                        is_cancelled, [&](const generate::Embedding& embedding) {
                            const double output = embedding.values.front();
                            scores.values.push_back(is_logit && call.activation == Activation::probability
                                                        ? sigmoid(output)
                                                        : output);
                        }));
    return scores;
}

ApiResult<Scores> score_cosines(api::ActiveRequest& active, const ScoreCall& call,
                                const CancelPoll& is_cancelled) {
    ETNA_CHECK(api::check_embeddings(active, std::nullopt));
    Scores scores;
    ETNA_TRY(const auto queries, embed_texts(active, call.queries, is_cancelled, scores.tokens));
    ETNA_TRY(const auto documents, embed_texts(active, call.documents, is_cancelled, scores.tokens));
    for (std::size_t i = 0; i < documents.size(); ++i) {
        const std::vector<float>& query = queries[queries.size() == 1 ? 0 : i];
        scores.values.push_back(std::inner_product(query.begin(), query.end(), documents[i].begin(), 0.0));
    }
    return scores;
}

} // namespace etna::server::rerank

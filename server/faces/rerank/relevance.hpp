#pragma once

#include "core/base/cancel.hpp"
#include "server/api/active_request.hpp"
#include "server/base/api_error.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::rerank {

/// Maximum documents of a request.
inline constexpr std::size_t documents_max = 2048;

/// The range of scores.
enum class Activation : uint8_t {
    probability, ///< 0 to 1: a logit goes through the sigmoid
    none,        ///< the head's output
};

/// Texts of a member of the request, borrowed from its body.
struct MemberTexts {
    std::string member;
    std::vector<std::string_view> texts = {};
    bool is_list = false; ///< they are elements of the member, otherwise there is one

    /// The path of a text: "documents[2]".
    [[nodiscard]] std::string path(std::size_t index) const;
};

/// The pairs that are scored: each document with the query, or with its own if there are as many.
struct ScoreCall {
    MemberTexts queries;
    MemberTexts documents;
    std::optional<uint32_t> document_tokens_max = {}; ///< further tokens are cut off; empty: none
    Activation activation = Activation::probability;
};

struct Scores {
    std::vector<double> values; ///< of each document
    uint32_t tokens = 0;        ///< of all texts that the model read
};

/// Checks that the model ranks documents. Error: 400. Precondition: it is acquired.
ApiStatus check_reranker(const api::ActiveRequest& active);

/// Returns the scores by the head of a reranker. Errors: those of generate::PairFormat and
/// generate::Embedder, with the path of the document that they are about. Precondition: check_reranker().
ApiResult<Scores> score_pairs(api::ActiveRequest& active, const ScoreCall& call,
                              const CancelPoll& is_cancelled);

/// Returns the cosines of the embeddings. Errors: those of api::check_embeddings() and api::embed().
ApiResult<Scores> score_cosines(api::ActiveRequest& active, const ScoreCall& call,
                                const CancelPoll& is_cancelled);

} // namespace etna::server::rerank

#pragma once

#include "server/api/answer_services.hpp"
#include "server/api/route.hpp"

#include <vector>

// Relevance of documents for a query. Sources: Jina's reranker API, v1; Cohere's API, v2; the rerank endpoint
// of Text Embeddings Inference; vLLM's score API.
namespace etna::server::rerank {

/// Jina's format; with `texts` instead of `documents`, that of Text Embeddings Inference, as in llama.cpp.
ApiResult<HttpReply> rerank(AnswerServices& services, const HttpRequest& request,
                            const RoutedRequest& routed);
/// Cohere's form.
ApiResult<HttpReply> rerank_cohere(AnswerServices& services, const HttpRequest& request,
                                   const RoutedRequest& routed);
ApiResult<HttpReply> score(AnswerServices& services, const HttpRequest& request, const RoutedRequest& routed);

/// {"detail", "error"}: clients of Jina read the first, clients of vLLM and llama.cpp the second.
HttpReply write_error(const HttpRequest& request, const ApiError& error);
/// {"id", "message"}.
HttpReply write_cohere_error(const HttpRequest& request, const ApiError& error);

std::vector<RouteOf<AnswerServices>> routes();

} // namespace etna::server::rerank

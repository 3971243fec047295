#pragma once

#include "server/api/route.hpp"

// Relevance of documents for a query. Sources: Jina's reranker API, v1; Cohere's API, v2; the rerank endpoint
// of Text Embeddings Inference; vLLM's score API.
namespace etna::server::rerank {

/// Jina's format; with `texts` instead of `documents`, that of Text Embeddings Inference, as in llama.cpp.
ApiResult<HttpReply> rerank(Service& service, const HttpRequest& request, const Call& call);
/// Cohere's form.
ApiResult<HttpReply> rerank_cohere(Service& service, const HttpRequest& request, const Call& call);
ApiResult<HttpReply> score(Service& service, const HttpRequest& request, const Call& call);

/// {"detail", "error"}: clients of Jina read the first, clients of vLLM and llama.cpp the second.
HttpReply write_error(const HttpRequest& request, const ApiError& error);
/// {"id", "message"}.
HttpReply write_cohere_error(const HttpRequest& request, const ApiError& error);

} // namespace etna::server::rerank

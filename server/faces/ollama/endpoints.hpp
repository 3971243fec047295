#pragma once

#include "server/api/answer_services.hpp"
#include "server/api/route.hpp"

#include <vector>

// Ollama's API. Source: Ollama, docs/api.md.
namespace etna::server::ollama {

ApiResult<HttpReply> chat(AnswerServices& services, const HttpRequest& request, const RoutedRequest& routed);
ApiResult<HttpReply> generate_text(AnswerServices& services, const HttpRequest& request,
                                   const RoutedRequest& routed);
ApiResult<HttpReply> embed(AnswerServices& services, const HttpRequest& request, const RoutedRequest& routed);
ApiResult<HttpReply> embeddings(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& routed);
ApiResult<HttpReply> list_models(AnswerServices& services, const HttpRequest& request,
                                 const RoutedRequest& routed);
ApiResult<HttpReply> list_running(AnswerServices& services, const HttpRequest& request,
                                  const RoutedRequest& routed);
ApiResult<HttpReply> show_model(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& routed);
ApiResult<HttpReply> show_version(AnswerServices& services, const HttpRequest& request,
                                  const RoutedRequest& routed);
ApiResult<HttpReply> pull_model(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& routed);
ApiResult<HttpReply> copy_model(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& routed);
ApiResult<HttpReply> delete_model(AnswerServices& services, const HttpRequest& request,
                                  const RoutedRequest& routed);
ApiResult<HttpReply> refuse_create(AnswerServices& services, const HttpRequest& request,
                                   const RoutedRequest& routed);
ApiResult<HttpReply> refuse_push(AnswerServices& services, const HttpRequest& request,
                                 const RoutedRequest& routed);
ApiResult<HttpReply> refuse_blob(AnswerServices& services, const HttpRequest& request,
                                 const RoutedRequest& routed);
ApiResult<HttpReply> find_blob(AnswerServices& services, const HttpRequest& request,
                               const RoutedRequest& routed);

/// The routes of the API, with its errors.
std::vector<RouteOf<AnswerServices>> routes();

} // namespace etna::server::ollama

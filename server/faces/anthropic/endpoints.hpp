#pragma once

#include "server/api/answer_services.hpp"
#include "server/api/route.hpp"

#include <vector>

// Anthropic's Messages API. Source: its API reference, 2023-06-01.
namespace etna::server::anthropic {

ApiResult<HttpReply> create_message(AnswerServices& services, const HttpRequest& request,
                                    const RoutedRequest& routed);
ApiResult<HttpReply> count_tokens(AnswerServices& services, const HttpRequest& request,
                                  const RoutedRequest& routed);
ApiResult<HttpReply> list_models(AnswerServices& services, const HttpRequest& request,
                                 const RoutedRequest& routed);
ApiResult<HttpReply> show_model(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& routed);

std::vector<RouteOf<AnswerServices>> routes();

/// Those at paths that OpenAI's API has, too: for requests with names_version().
std::vector<RouteOf<AnswerServices>> model_routes();

} // namespace etna::server::anthropic

#pragma once

#include "server/api/answer_services.hpp"
#include "server/api/route.hpp"

#include <vector>

namespace etna::server::openai {

ApiResult<HttpReply> chat_completions(AnswerServices& services, const HttpRequest& request,
                                      const RoutedRequest& routed);
/// Ends the reasoning of a running answer, see api::control_answer().
ApiResult<HttpReply> control_chat(AnswerServices& services, const HttpRequest& request,
                                  const RoutedRequest& routed);
ApiResult<HttpReply> completions(AnswerServices& services, const HttpRequest& request,
                                 const RoutedRequest& routed);
ApiResult<HttpReply> embeddings(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& routed);
ApiResult<HttpReply> tokenize(AnswerServices& services, const HttpRequest& request,
                              const RoutedRequest& routed);
ApiResult<HttpReply> detokenize(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& routed);
ApiResult<HttpReply> apply_template(AnswerServices& services, const HttpRequest& request,
                                    const RoutedRequest& routed);
/// Describes the tokenizer of the model in the query's `model`, or of the default model.
ApiResult<HttpReply> tokenizer_info(AnswerServices& services, const HttpRequest& request,
                                    const RoutedRequest& routed);
ApiResult<HttpReply> count_chat(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& routed);
ApiResult<HttpReply> list_models(AnswerServices& services, const HttpRequest& request,
                                 const RoutedRequest& routed);
ApiResult<HttpReply> show_model(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& routed);
ApiResult<HttpReply> list_models_dynamo(AnswerServices& services, const HttpRequest& request,
                                        const RoutedRequest& routed);

// Stored chat completions (`store`). Source: OpenAI API 2.3.0, /chat/completions.

/// Lists the chats, oldest first; the query can filter by model or metadata (`metadata[NAME]=VALUE`).
ApiResult<HttpReply> list_chats(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& routed);

ApiResult<HttpReply> show_chat(AnswerServices& services, const HttpRequest& request,
                               const RoutedRequest& routed);

/// Lists the messages of its request.
ApiResult<HttpReply> list_chat_messages(AnswerServices& services, const HttpRequest& request,
                                        const RoutedRequest& routed);

/// Replaces its metadata.
ApiResult<HttpReply> change_chat(AnswerServices& services, const HttpRequest& request,
                                 const RoutedRequest& routed);

ApiResult<HttpReply> remove_chat(AnswerServices& services, const HttpRequest& request,
                                 const RoutedRequest& routed);

/// The routes of answers, embeddings, tokens and models. `options` has the paths that the operator chooses.
std::vector<RouteOf<AnswerServices>> routes(const ServiceOptions& options);

std::vector<RouteOf<AnswerServices>> stored_chat_routes();

} // namespace etna::server::openai

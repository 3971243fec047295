#pragma once

#include "server/api/answer_services.hpp"
#include "server/api/route.hpp"

#include <vector>

// The routes of llama.cpp's own server. Source: its tools/server/README.md.
namespace etna::server::llamacpp {

ApiResult<HttpReply> complete(AnswerServices& services, const HttpRequest& request,
                              const RoutedRequest& routed);
ApiResult<HttpReply> infill(AnswerServices& services, const HttpRequest& request,
                            const RoutedRequest& routed);

/// Returns one pooled vector per text.
ApiResult<HttpReply> embed(AnswerServices& services, const HttpRequest& request, const RoutedRequest& routed);

/// Never loads a model. The query parameter `model` selects one.
ApiResult<HttpReply> show_props(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& routed);
ApiResult<HttpReply> change_props(AnswerServices& services, const HttpRequest& request,
                                  const RoutedRequest& routed);

/// 501 unless the operator allows it, see ServiceOptions::shows_slots.
ApiResult<HttpReply> list_slots(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& routed);
ApiResult<HttpReply> change_slot(AnswerServices& services, const HttpRequest& request,
                                 const RoutedRequest& routed);

/// Loads the model named in the body; replies once it is in memory.
ApiResult<HttpReply> load_model(AnswerServices& services, const HttpRequest& request,
                                const RoutedRequest& routed);

/// Frees the memory of the model named in the body.
ApiResult<HttpReply> unload_model(AnswerServices& services, const HttpRequest& request,
                                  const RoutedRequest& routed);

/// LoRA is not supported: the list of adapters is empty.
ApiResult<HttpReply> list_adapters(AnswerServices& services, const HttpRequest& request,
                                   const RoutedRequest& routed);
ApiResult<HttpReply> change_adapters(AnswerServices& services, const HttpRequest& request,
                                     const RoutedRequest& routed);

std::vector<RouteOf<AnswerServices>> routes();

} // namespace etna::server::llamacpp

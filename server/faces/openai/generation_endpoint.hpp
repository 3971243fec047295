#pragma once

#include "server/api/route.hpp"
#include "server/faces/openai/generation_request.hpp"

namespace etna::server::openai {

/// Runs a generation request. Errors: those of parsing and of api::model_of(); others are in the reply.
ApiResult<HttpReply> serve_generation(AnswerServices& services, const HttpRequest& request,
                                      const RoutedRequest& routed, const EndpointSpec& spec);

} // namespace etna::server::openai

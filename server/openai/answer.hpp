#pragma once

#include "server/openai/generation_call.hpp"
#include "server/router.hpp"

namespace etna::server::openai {

/// Answers a request that generates: everything that can be refused with a status is settled before the
/// headers go out, except while a model is loading for longer than the keep-alive interval: then a stream
/// begins, and a failure is told in it.
HttpReply answer(Service& service, const HttpRequest& request, const Call& call, const AnswerKind& kind);

/// The model's name in the body, or the server's first one. Errors: 400 (no text), 404.
std::variant<std::string, ApiError> model_of(Service& service, const Json& body);

} // namespace etna::server::openai

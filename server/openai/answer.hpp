#pragma once

#include "server/openai/generation_call.hpp"
#include "server/router.hpp"

namespace etna::server::openai {

/// Answers a request that generates: everything that can be refused with a status is settled before the
/// headers go out, except while a model is loading for longer than the keep-alive interval: then a stream
/// begins, and a failure is told in it.
HttpReply answer(Service& service, const HttpRequest& request, const Call& call, const AnswerKind& kind);

/// The name of the model that the body's `model` calls, see Models::find(); the server's first one where it
/// calls none. Where a single one is served, it answers for names that nobody knows, unless the operator has
/// them refused. Errors: 400 (no text), 404 (with the nearest names).
std::variant<std::string, ApiError> model_of(Service& service, const Json& body);

/// Puts the name of the model that answers into the headers: `etna-model`.
void tell_model(const std::string& name, HttpReply& reply);

} // namespace etna::server::openai

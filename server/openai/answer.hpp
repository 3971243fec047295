#pragma once

#include "server/openai/generation_call.hpp"
#include "server/router.hpp"

namespace etna::server::openai {

/// Answers a request that generates: everything that can be refused with a status is settled before the
/// headers go out, except while a model is loading for longer than the keep-alive interval: then a stream
/// begins, and a failure is told in it.
HttpReply answer(Service& service, const HttpRequest& request, const Call& call, const AnswerKind& kind);

/// Returns the name of the model that the body's `model` member names, see Models::find(). Without that
/// member, and for unknown names if the operator allows any, returns the default model. Errors: 400 (not a
/// string), 404 (unknown name; the message lists the served ones).
std::variant<std::string, ApiError> model_of(Service& service, const Json& body);

/// The 404 of a model that is not served, with the names that are. `hint` is appended; may be empty.
ApiError unknown_model(Service& service, std::string_view wanted, std::string_view hint);

/// Puts the name of the model that answers into the header `etna-model`, and into the log.
void tell_model(const std::string& name, HttpReply& reply);

/// Logs what is known of an answer with the reply, which keeps its own error.
void complete_log(AnswerLog known, HttpReply& reply);

} // namespace etna::server::openai

#pragma once

#include "server/api/answer_services.hpp"
#include "server/base/api_error.hpp"
#include "server/base/json.hpp"

#include <string>
#include <string_view>

// The model that a request names.
namespace etna::server::api {

/// Returns whether a text is the address that the request was sent to, such as "http://localhost:8080/v1",
/// with or without scheme and path: clients that have no model's name put their base URL in its place.
bool is_own_address(std::string_view text, const HttpRequest& request);

/// Returns the name of the model that the body's `model` member names, see Models::find(). Without that
/// member, for the server's own address, and for unknown names if the operator allows any, returns the
/// default model. Errors: 400 (not a string), 404 (unknown name; the message lists the served ones).
ApiResult<std::string> model_of(AnswerServices& services, const HttpRequest& request, const Json& body);

/// Returns a clause about the served models for a client that requested `name`, see served_names().
std::string served_models(AnswerServices& services, std::string_view name);

/// Returns the 404 error for an unknown model, listing the served names. `hint` is appended; may be empty.
ApiError unknown_model(AnswerServices& services, std::string_view name, std::string_view hint);

/// Unloads a model for a request. Errors: 404 (unknown name), 409 (it is pinned, or another client uses it),
/// 429 (it is being loaded, or the client unloads too often).
ApiResult<Unloading> unload_model(AnswerServices& services, const HttpRequest& request,
                                  const std::string& name);

/// Sets the header `etna-model` and the log entry to the name of the answering model.
void report_model(const std::string& name, HttpReply& reply);

/// Merges the log entry of an answer into that of the reply, which retains its own error.
void complete_log(AnswerLog log, HttpReply& reply);

} // namespace etna::server::api

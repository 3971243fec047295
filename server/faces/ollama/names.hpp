#pragma once

#include "server/api/answer_services.hpp"
#include "server/base/fields.hpp"

#include <string>
#include <string_view>

// Model names: Ollama's have a tag, NAME:TAG; without a tag, it is `latest`.
namespace etna::server::ollama {

/// Appends ":latest" to a name without a tag.
std::string with_tag(std::string_view name);

/// Removes ":latest", as in the names of stored models.
std::string without_latest(std::string_view name);

/// Reads the required name of a model from `model`, or from `name`, its older member. Errors are recorded in
/// `fields`; the name is then empty.
std::string read_model(Fields& fields);

/// Returns the listing of the model that a client names, see Models::find_or_add(). Errors: 404 with the
/// names of the served ones, and those of the finder.
ApiResult<ModelListing> find_model(AnswerServices& services, const std::string& name);

/// Returns the name of the model that answers a request for `name`. As find_model(), but the server's own
/// address means the default model, and any name does if the operator allows that.
ApiResult<std::string> served_name(AnswerServices& services, const HttpRequest& request,
                                   const std::string& name);

} // namespace etna::server::ollama

#pragma once

#include "server/api/answer_services.hpp"
#include "server/base/api_error.hpp"
#include "server/http/http.hpp"
#include "server/models/models.hpp"

#include <string_view>

namespace etna::server::llamacpp {

/// Returns the first value of a query parameter; empty if absent.
std::string_view query_value(const HttpRequest& request, std::string_view name);

/// Returns the model named by the query parameter `model`, or the default model. Never loads it. Errors: 404.
ApiResult<ModelListing> queried_model(AnswerServices& services, const HttpRequest& request);

} // namespace etna::server::llamacpp

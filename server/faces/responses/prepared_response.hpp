#pragma once

#include "server/faces/responses/dialect.hpp"
#include "server/faces/responses/object.hpp"
#include "server/faces/responses/prior_context.hpp"
#include "server/faces/responses/request.hpp"
#include "server/faces/responses/response_prompt.hpp"
#include "server/faces/responses/services.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace etna::server::responses {

/// The identity of a response.
struct ResponseId {
    std::string id; ///< "resp_..."
    int64_t created_unix_s = 0;
};

/// A request to `/v1/responses` that is read, with its prior context, before its model is acquired.
struct PreparedResponse {
    Request request;
    ResponseStandard standard = ResponseStandard::openai;
    ResponsePrompt prompt;
    std::optional<storage::History> history = {}; ///< that of the previous response
    Response response = {};                       ///< the object before its first token
    std::string rerun = {};                       ///< rerun_text() of a background response
};

/// Reads the body of a request, and loads the prior context. Errors: those of reading, of
/// load_prior_context() and of the model's name. `known`: of a response that is generated again; empty: a new
/// one.
ApiResult<PreparedResponse> prepare(const Services& services, const HttpRequest& request, const Json& body,
                                    Purpose purpose = Purpose::answer, std::optional<ResponseId> known = {});

} // namespace etna::server::responses

#pragma once

#include "server/openai/generation_call.hpp"

namespace etna::server::openai {

/// Parses the body of POST /v1/completions. Errors: 400, with the field.
std::variant<GenerationCall, ApiError> read_completion(const Json& body, const RequestContext& context);

} // namespace etna::server::openai

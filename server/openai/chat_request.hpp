#pragma once

#include "server/openai/generation_call.hpp"

namespace etna::server::openai {

/// The body of POST /v1/chat/completions. Errors: 400, with the member.
std::variant<GenerationCall, ApiError> read_chat(const Json& body, const RequestContext& context);

} // namespace etna::server::openai

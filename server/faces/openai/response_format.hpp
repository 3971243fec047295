#pragma once

#include "core/generate/request.hpp"
#include "server/base/fields.hpp"

namespace etna::server::openai {

/// Reads OpenAI's `response_format`; `json_object` may have a `schema`, as in llama.cpp. Returns whether any
/// JSON object is requested, which the model must be prompted for. Errors are recorded in `fields`.
/// Precondition: api::read_structure() was called. Source: OpenAI API 2.3.0.
bool read_response_format(Fields& fields, generate::Request& request);

} // namespace etna::server::openai

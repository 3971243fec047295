#pragma once

#include "core/generate/request.hpp"
#include "core/sampling/parameters.hpp"
#include "server/api/request_context.hpp"
#include "server/base/fields.hpp"

namespace etna::server::ollama {

/// The API's sampling defaults, which the model's recommendations override. Source: Ollama, docs/modelfile.
constexpr sampling::Parameters default_sampling = {.temperature = 0.8F,
                                                   .top_k = 40,
                                                   .top_p = 0.9F,
                                                   .min_p = 0,
                                                   .repetition_window_tokens = 64,
                                                   .presence_window_tokens = 64,
                                                   .frequency_window_tokens = 64};

/// Reads `options`. Options that the operator decides, such as `num_ctx`, are reported as without effect.
/// Errors are recorded in `fields`. Precondition: the request has a ContextShift. Source: Ollama, docs/api.md
/// and docs/modelfile.
void read_options(Fields& fields, const api::RequestContext& context, generate::Request& request);

/// Reads `options` of a request that does not sample: every option is reported as without effect.
void note_options(Fields& fields);

} // namespace etna::server::ollama

#pragma once

#include "core/generate/request.hpp"
#include "server/api/request_context.hpp"
#include "server/api/template_arguments.hpp"
#include "server/base/fields.hpp"

#include <cstdint>
#include <optional>

namespace etna::server::api {

/// Reads the limit of the reasoning and how it ends: `reasoning_budget_tokens`, `thinking_budget_tokens`,
/// `reasoning_budget_message` and `reasoning_control` of llama.cpp, `thinking_token_budget` of vLLM; -1: no
/// limit. The operator's limit applies if there is none. Errors are recorded in `fields`.
void read_reasoning_limit(Fields& fields, const RequestLimits& limits, generate::Request& request);

/// Reads `max_thinking_tokens` of Dynamo's NvExt, for requests without read_reasoning_limit()'s members.
void read_nvext_limit(Fields& fields, Fields& nvext, const RequestLimits& limits, generate::Request& request);

/// Limits the reasoning to a number of tokens; negative: no limit.
void limit_reasoning(generate::Request& request, const RequestLimits& limits, int64_t tokens_max);

/// Limits the reasoning to the operator's number of tokens for an effort, see RequestLimits::effort_budgets;
/// a smaller limit remains. Not of a beam search, which cannot have one.
void apply_effort_budget(std::optional<ReasoningEffort> effort, const RequestLimits& limits,
                         generate::Request& request);

/// Removes the operator's limit from a beam search, which cannot have one.
void drop_operator_limit(Fields& fields, generate::Request& request);

} // namespace etna::server::api

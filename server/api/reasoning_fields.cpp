#include "server/api/reasoning_fields.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <string_view>

#include <fmt/format.h>

namespace etna::server::api {
namespace {

using Integers = std::numeric_limits<int64_t>;

/// By precedence.
constexpr std::array<std::string_view, 3> budget_names = {"reasoning_budget_tokens", "thinking_budget_tokens",
                                                          "thinking_token_budget"};

generate::ReasoningLimit& limit_of(generate::Request& request, const RequestLimits& limits) {
    if (!request.reasoning)
        request.reasoning.emplace().message = limits.reasoning_budget_message;
    return *request.reasoning;
}

bool names_limit(Fields& fields) {
    return std::any_of(budget_names.begin(), budget_names.end(),
                       [&](std::string_view name) { return fields.any(name) != nullptr; });
}

} // namespace

void limit_reasoning(generate::Request& request, const RequestLimits& limits, int64_t tokens_max) {
    if (tokens_max >= 0) {
        limit_of(request, limits).tokens_max =
            static_cast<uint32_t>(std::min<int64_t>(tokens_max, std::numeric_limits<uint32_t>::max()));
    } else if (request.reasoning) {
        request.reasoning->tokens_max.reset();
    }
}

void read_reasoning_limit(Fields& fields, const RequestLimits& limits, generate::Request& request) {
    if (limits.reasoning_budget)
        limit_reasoning(request, limits, *limits.reasoning_budget);
    bool is_given = false;
    for (const std::string_view name : budget_names) {
        const auto tokens = fields.integer(name, -1, Integers::max());
        if (tokens && !is_given)
            limit_reasoning(request, limits, *tokens);
        is_given = is_given || tokens.has_value();
    }
    const auto message = fields.text("reasoning_budget_message");
    if (message && message->size() > generate::reasoning_message_bytes_max) {
        fields.refuse("reasoning_budget_message",
                      fmt::format("must have at most {} bytes", generate::reasoning_message_bytes_max));
    }
    if (message)
        limit_of(request, limits).message = *message;
    if (fields.flag("reasoning_control").value_or(false))
        limit_of(request, limits).is_over = std::make_shared<std::atomic<bool>>(false);
}

void read_nvext_limit(Fields& fields, Fields& nvext, const RequestLimits& limits,
                      generate::Request& request) {
    const auto tokens = nvext.integer("max_thinking_tokens", -1, Integers::max());
    if (tokens && !names_limit(fields))
        limit_reasoning(request, limits, *tokens);
}

void apply_effort_budget(std::optional<ReasoningEffort> effort, const RequestLimits& limits,
                         generate::Request& request) {
    const auto budget = effort ? limits.effort_budgets.at(static_cast<std::size_t>(*effort)) : std::nullopt;
    if (!budget || request.beams)
        return;
    const bool is_smaller =
        request.reasoning && request.reasoning->tokens_max && *request.reasoning->tokens_max <= *budget;
    if (!is_smaller)
        limit_reasoning(request, limits, *budget);
}

void drop_operator_limit(Fields& fields, generate::Request& request) {
    const bool is_controlled = request.reasoning && request.reasoning->is_over != nullptr;
    if (request.beams && !names_limit(fields) && !is_controlled)
        request.reasoning.reset();
}

} // namespace etna::server::api

#pragma once

#include "server/fields.hpp"
#include "server/json.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

// Custom tools take text instead of arguments; the model sees them as functions with one string parameter,
// `input`. Source: OpenAI API 2.3.0, CustomToolChatCompletions.
namespace etna::server::openai {

/// A tool offered to the model.
struct OfferedTool {
    std::size_t place = 0; ///< index in the request's `tools`, or its deprecated `functions`
    bool is_custom = false;
    bool is_older = false; ///< see older_functions.hpp
};

/// The remaining step budget for checking all regular expressions of one request: see
/// Language::set_step_budget(). Far more than any usable expression needs.
struct StepsOfChecks {
    uint64_t left = 20'000'000;
};

/// {"type": "custom", "custom": {"name": ...}}.
bool is_named_custom(const Json& json);

/// Converts a custom tool to a function whose `input` is constrained to the tool's format. Errors are
/// recorded in `tool`. Precondition: is_named_custom().
Json function_of_custom(Fields& tool, StepsOfChecks& steps);

/// Reads {"syntax", "definition"} into keywords of the input's schema; chats have them in a separate object,
/// responses next to the type. Errors are recorded in `grammar`.
void read_grammar(Fields& grammar, Json& schema, StepsOfChecks& steps);

/// The prefix of an error message that locates the grammar in the generated schema; empty if there is none.
std::string_view grammar_place(std::string_view text);

/// Rewrites calls of custom tools in the messages to calls of those functions. Precondition:
/// check_messages().
Json with_functions_alone(Json messages);

/// Maps an error in the parameters of one of `tools`, which the core numbers, to its path in the request; for
/// a custom tool, to an error in its format. Other errors are unchanged.
void tell_of_tool(ApiError& error, const std::vector<OfferedTool>& tools);

} // namespace etna::server::openai

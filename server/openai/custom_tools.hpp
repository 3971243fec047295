#pragma once

#include "server/fields.hpp"
#include "server/json.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

// Tools that take a text instead of arguments: for the model they are functions of one text, `input`. Source:
// OpenAI API 2.3.0, CustomToolChatCompletions.
namespace etna::server::openai {

/// A tool that the model is offered.
struct OfferedTool {
    std::size_t place = 0; ///< in the request's `tools`, or its older `functions`
    bool is_custom = false;
    bool is_older = false; ///< see older_functions.hpp
};

/// What is left of what the checks of all regular expressions of one request may take: see
/// Language::allow_steps(). It is far more than any of them could have and still be followed.
struct StepsOfChecks {
    uint64_t left = 20'000'000;
};

/// {"type": "custom", "custom": {"name": ...}}.
bool is_named_custom(const Json& json);

/// The function that a custom tool becomes; its `input` is kept to the tool's format. Mistakes are left in
/// `tool`, which reads it. Precondition: is_named_custom().
Json function_of_custom(Fields& tool, StepsOfChecks& steps);

/// Reads {"syntax", "definition"}, which chats have in a member of their own and responses beside the type,
/// as keywords of the text's schema. Mistakes are left in `grammar`.
void read_grammar(Fields& grammar, Json& schema, StepsOfChecks& steps);

/// Where a grammar stands in the schema that it became, at the beginning of an error's rest; empty where the
/// text names no place.
std::string_view grammar_place(std::string_view text);

/// Messages whose calls of custom tools are calls of those functions. Precondition: check_messages().
Json with_functions_alone(Json messages);

/// What is wrong with the parameters of one of `tools`, which the core counts, told by its place in the
/// request, and of a custom tool as a mistake in its format. Other errors stay as they are.
void tell_of_tool(ApiError& error, const std::vector<OfferedTool>& tools);

} // namespace etna::server::openai

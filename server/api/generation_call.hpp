#pragma once

#include "core/generate/events.hpp"
#include "core/generate/request.hpp"
#include "server/api/reply.hpp"
#include "server/base/api_error.hpp"
#include "server/base/fields.hpp"

#include <string>
#include <vector>

// A request to generate in etna's terms, into which the reader of every API translates its bodies.
namespace etna::server::api {

/// A tool offered to the model.
struct OfferedTool {
    std::string path = {};  ///< the member that holds its parameters: "tools[4].function.parameters"
    bool is_custom = false; ///< it takes text; the member holds the grammar of that text
};

/// The request's members that have no effect, by path, and the changes to its messages.
struct IgnoredMembers {
    std::vector<std::string> unknown = {};
    std::vector<std::string> without_effect = {}; ///< known to the API
    std::vector<std::string> changes = {};        ///< by the chat template, one clause each

    void add(const IgnoredMembers& more);
    void add(const generate::Adapted& adapted);
};

/// Returns the members of the request that have no effect, after all others have been read.
IgnoredMembers ignored_members(const Fields& fields);

/// Returns whether the client requests that unknown members are refused: `etna-strict: 1`.
bool is_strict(const HttpRequest& request);

/// Returns the error for a strict client's unknown members; success if there is none.
ApiStatus refuse_unknown(bool is_strict, const IgnoredMembers& ignored);

/// Lists the members without effect in the response's header `etna-ignored`, and the changes in
/// `etna-adapted`.
void report_ignored(const IgnoredMembers& ignored, HttpReply& reply);

/// One request of a client.
struct GenerationCall {
    std::vector<generate::Request> requests = {}; ///< one per prompt
    std::string prompt_member = {};               ///< the member that holds the prompts: "messages"
    std::vector<OfferedTool> tools = {};          ///< in the order of the conversation's tools
    IgnoredMembers ignored = {};
    std::string call_id_prefix = {}; ///< of the id of a call that starts without one; empty: it gets none
    bool ends_after_call = false;    ///< an answer has at most one call
    bool asks_for_thinking = true;   ///< whether to think is the client's choice, and not the API's default
};

/// Maps an error in the parameters of one of `tools`, which the core numbers, to the client's member. For a
/// custom tool, the path inside the generated schema is left out. Other errors are unchanged.
void map_tool_error(ApiError& error, const std::vector<OfferedTool>& tools);

} // namespace etna::server::api

#pragma once

#include "server/api_error.hpp"
#include "server/fields.hpp"
#include "server/json.hpp"
#include "server/responses/tools.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etna::server::responses {

/// Additional output requested with `include`.
struct IncludedOutput {
    bool logprobs = false;
    bool sealed_reasoning = false;
};

/// The body of POST /v1/responses, parsed as far as possible without the model and the store.
struct Request {
    Json input = Json::array(); ///< this request's own items, see read_items()
    std::optional<std::string> instructions = {};
    std::optional<std::string> previous = {};     ///< the id of the previous response
    std::optional<std::string> conversation = {}; ///< alternatively, the id of the conversation
    bool stores = true;
    bool is_background = false;
    bool is_streamed = false;
    bool truncates = false; ///< truncation `auto`: the oldest items that do not fit are dropped
    bool includes_summary = false;
    IncludedOutput included = {};
    std::optional<uint32_t> calls_max = {};
    ToolNames tool_names = {};
    std::vector<OfferedTool> offered = {};
    Json echoed = Json::object(); ///< the response's fields repeated from the request
    /// The request converted to a chat completion, without messages; includes fields unknown to this API,
    /// which may be etna's or vLLM's extensions.
    Json chat = Json::object();
    std::vector<std::string> ignored = {};        ///< paths of unknown fields
    std::vector<std::string> without_effect = {}; ///< known fields without effect
};

/// The purpose of a request; with `count`, the input may be absent.
enum class Purpose : uint8_t { answer, count };

/// Errors: 400, with the field. Source: OpenAI API 2.3.0, CreateResponse and TokenCountsBody.
ApiResult<Request> read_request(const Json& body, Purpose purpose);

/// Maps the field names in an error of the derived chat completion back to those of `request`.
ApiError map_to_responses(ApiError error, const Request& request);

} // namespace etna::server::responses

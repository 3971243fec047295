#pragma once

#include "server/api_error.hpp"
#include "server/fields.hpp"
#include "server/json.hpp"
#include "server/responses/tools.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace etna::server::responses {

/// What clients may ask to be told beside the answer (`include`).
struct Included {
    bool logprobs = false;
    bool sealed_reasoning = false;
};

/// The body of POST /v1/responses, read as far as neither a model nor the store is needed.
struct Request {
    Json input = Json::array(); ///< this request's own items, see read_items()
    std::optional<std::string> instructions = {};
    std::optional<std::string> previous = {};     ///< the response that it goes on from
    std::optional<std::string> conversation = {}; ///< or the conversation
    bool stores = true;
    bool is_background = false;
    bool is_streamed = false;
    bool drops_oldest = false; ///< truncation `auto`: items that have no room are left out
    bool tells_summary = false;
    Included included = {};
    std::optional<uint32_t> calls_max = {};
    ToolNames tool_names = {};
    std::vector<OfferedTool> offered = {};
    Json told = Json::object(); ///< the response's members that repeat the request
    /// The same as a chat completion, without its messages; with the members that nobody knows here, which
    /// may be etna's or vLLM's.
    Json chat = Json::object();
    std::vector<std::string> ignored = {}; ///< members that nobody knows, by path
    std::vector<std::string> noted = {};   ///< those that are known, and without effect
};

/// What a response is asked for; whose tokens are only counted may lack an input.
enum class Purpose : uint8_t { answer, count };

/// Errors: 400, with the member. Source: OpenAI API 2.3.0, CreateResponse and TokenCountsBody.
std::variant<Request, ApiError> read_request(const Json& body, Purpose purpose);

/// What went wrong with the chat completion that `request` became, by the names of the request's members.
ApiError in_words_of_responses(ApiError error, const Request& request);

} // namespace etna::server::responses

#pragma once

#include "server/api/generation_call.hpp"
#include "server/api/request_context.hpp"
#include "server/api/template_arguments.hpp"
#include "server/base/api_error.hpp"
#include "server/base/fields.hpp"
#include "server/base/json.hpp"
#include "server/faces/responses/tools.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etna::server::responses {

/// Additional output requested with `include`.
struct IncludedOutput {
    bool logprobs = false;
    bool sealed_reasoning = false;
    bool timings = false; ///< etna's own: `etna.timings` of the finished response
};

/// The format of the answer's text.
enum class AnswerFormat : uint8_t { text, json_object, json_schema };

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
    std::optional<uint32_t> logprobs = {}; ///< number of top logprobs; empty: none
    std::optional<api::ReasoningEffort> effort = {};
    AnswerFormat format = AnswerFormat::text;
    Json schema = nullptr; ///< the format's member that holds the schema
    Tools tools = {};
    Json echoed = Json::object(); ///< the response's fields repeated from the request
    /// The members that the readers common to all APIs read once the model is known, among them all that are
    /// unknown to this API, which may be etna's or vLLM's extensions.
    Json shared = Json::object();
    api::IgnoredMembers ignored = {};
};

/// The purpose of a request; with `count`, the input may be absent.
enum class Purpose : uint8_t { answer, count };

/// Errors: 400, with the field. Source: OpenAI API 2.3.0, CreateResponse and TokenCountsBody.
ApiResult<Request> read_request(const Json& body, Purpose purpose, const api::FileTexts& files = {});

/// Returns the generation that answers the request. `messages`: the prompt without instructions. Errors: 400,
/// with the field.
ApiResult<api::GenerationCall> generation_call(const Request& request, std::vector<chat::Message> messages,
                                               const api::RequestContext& context);

} // namespace etna::server::responses

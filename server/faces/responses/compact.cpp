// POST /v1/responses/compact: turns a conversation into one item that only this server can read, with the
// model's summary and the user's last turn.
#include "server/api/model_choice.hpp"
#include "server/api/owner.hpp"
#include "server/api/persistence.hpp"
#include "server/api/request_body.hpp"
#include "server/base/ids.hpp"
#include "server/faces/responses/endpoints.hpp"
#include "server/faces/responses/response_job.hpp"

#include <array>
#include <ctime>
#include <set>
#include <utility>

namespace etna::server::responses {
namespace {

constexpr uint32_t summary_tokens_max = 1024;

constexpr const char* summary_instruction =
    "Summarize our conversation so far for someone who will continue it: what I want, what was said and "
    "decided, names, facts and numbers, the results of tools, and open questions. Write the summary and "
    "nothing else.";

/// Builds the request whose response is the summary; members without effect go to `ignored`. Errors: 400,
/// with the field.
ApiResult<Json> summary_request(const Json& body, api::IgnoredMembers& ignored) {
    Fields fields(body);
    fields.require("model"); // the API requires it only here
    const Json* const input = fields.any("input");
    if (input == nullptr && fields.any("previous_response_id") == nullptr)
        fields.require("input");
    if (input != nullptr && !input->is_string() && !input->is_array())
        fields.refuse("input", "must be a string or a list of items", "invalid_type");
    constexpr std::array<const char*, 7> forwarded = {"model",
                                                      "instructions",
                                                      "previous_response_id",
                                                      "prompt_cache_key",
                                                      "prompt_cache_retention",
                                                      "service_tier",
                                                      "prompt_cache_options"};
    fields.accept({forwarded.begin(), forwarded.end()});
    ETNA_CHECK(fields.status());
    ignored.unknown = fields.unknown();
    Json request = Json::object();
    for (const char* const name : forwarded) {
        if (body.contains(name))
            request[name] = body[name];
    }
    Json items = input != nullptr && input->is_array() ? *input : Json::array();
    if (input != nullptr && input->is_string())
        items.push_back({{"role", "user"}, {"content", *input}});
    items.push_back({{"role", "user"}, {"content", summary_instruction}});
    request["input"] = std::move(items);
    request["store"] = false;
    request["truncation"] = "auto";
    request["temperature"] = 0;
    request["reasoning"] = {{"effort", "none"}};
    request["max_output_tokens"] = summary_tokens_max;
    return request;
}

Json summary_message(const std::string& summary) {
    Json content = Json::array();
    content.push_back(
        {{"type", "input_text"}, {"text", "This is a summary of our conversation so far:\n\n" + summary}});
    return {{"type", "message"},
            {"id", new_id("msg_")},
            {"role", "user"},
            {"status", "completed"},
            {"content", std::move(content)}};
}

/// Adds the items that the conversation needs in addition to the summary: the user's last message, and calls
/// without results.
void add_open_items(const Json& items, Json& compacted) {
    std::set<Json> answered;
    const Json* last = nullptr;
    for (const Json& item : items) {
        if (item["type"] == "message" && item["role"] == "user")
            last = &item;
        if (item["type"].get_ref<const std::string&>().ends_with("_output"))
            answered.insert(item["call_id"]);
    }
    if (last != nullptr)
        compacted.push_back(*last);
    for (const Json& item : items) {
        const bool is_call = item["type"] == "function_call" || item["type"] == "custom_tool_call";
        if (is_call && !answered.contains(item["call_id"]))
            compacted.push_back(item);
    }
}

ApiResult<Json> compaction(const Seal& seal, const std::string& purpose, Json items, const Json& response) {
    const std::string summary = response["output_text"];
    if (summary.empty()) {
        return ApiError{.status = 500,
                        .message = "the model returned no summary",
                        .type = "server_error",
                        .code = "compaction_failed"};
    }
    items.erase(items.size() - 1); // the request for a summary
    Json compacted = Json::array();
    compacted.push_back(summary_message(summary));
    add_open_items(items, compacted);
    auto sealed = seal.seal(dump_json(compacted), purpose);
    if (!sealed)
        return api_error(sealed.error());
    Json output = Json::array();
    output.push_back(
        {{"type", "compaction"}, {"id", new_id("cmp_")}, {"encrypted_content", std::move(*sealed)}});
    Json object = {{"id", new_id("resp_")},
                   {"object", "response.compaction"},
                   {"created_at", std::time(nullptr)},
                   {"output", std::move(output)},
                   {"usage", response["usage"]}};
    if (response.contains("etna")) // items truncated from the summary's prompt
        object["etna"] = response["etna"];
    return object;
}

/// Reads the request, and prepares the response whose text is the summary.
ApiResult<std::shared_ptr<ResponseJob>> prepare_summary(const Services& services, const HttpRequest& request,
                                                        const RoutedRequest& routed,
                                                        api::IgnoredMembers& ignored) {
    ETNA_TRY(const auto body, parse_body(request));
    ETNA_TRY(const auto summarized, summary_request(body, ignored));
    ETNA_CHECK(api::refuse_unknown(api::is_strict(request), ignored));
    ETNA_TRY(auto prepared, prepare(services, request, summarized));
    return std::make_shared<ResponseJob>(services, request, routed, std::move(prepared));
}

ApiResult<HttpReply> run_compaction(ResponseJob& job, const HttpRequest& request,
                                    api::IgnoredMembers& ignored) {
    ETNA_CHECK(job.truncate(request.is_client_gone));
    ETNA_CHECK(job.begin(request.is_client_gone));
    ETNA_CHECK(job.complete(request.is_client_gone));
    ignored.add({.unknown = job.active.ignored().unknown});
    const Seal& seal = job.active.services().persistence->seal;
    ETNA_TRY(const auto compacted,
             compaction(seal, purpose_of(sealed_items, job.active.owner()), job.items(), job.object()));
    return HttpReply{.body = dump_json(compacted) + "\n"};
}

} // namespace

ApiResult<HttpReply> compact(const Services& services, const HttpRequest& request,
                             const RoutedRequest& routed) {
    api::IgnoredMembers ignored;
    const auto job = prepare_summary(services, request, routed, ignored);
    HttpReply reply =
        job ? api::reply_once((*job)->active, run_compaction(**job, request, ignored), request, routed)
            : routed.write_error(request, job.error());
    api::report_ignored(ignored, reply);
    return reply;
}

} // namespace etna::server::responses

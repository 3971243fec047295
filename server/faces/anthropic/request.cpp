#include "server/faces/anthropic/request.hpp"

#include "server/api/parameter_fields.hpp"
#include "server/api/reasoning_fields.hpp"
#include "server/api/sampling_fields.hpp"
#include "server/api/structured_output.hpp"
#include "server/api/template_arguments.hpp"
#include "server/base/fields.hpp"
#include "server/faces/anthropic/conversation.hpp"
#include "server/faces/anthropic/errors.hpp"
#include "server/faces/anthropic/tools.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::server::anthropic {
namespace {

void read_sampling(Fields& fields, Purpose purpose, const api::RequestContext& context,
                   generate::Request& request) {
    if (purpose == Purpose::answer)
        fields.require("max_tokens");
    api::read_length(fields, "max_tokens", 1, request);
    api::read_parameters(fields, &sampling::Parameter::anthropic, context.tokenizer->size(),
                         request.sampling);
    request.stop = fields.texts("stop_sequences", api::stops_max).value_or(std::vector<std::string>());
    if (std::any_of(request.stop.begin(), request.stop.end(), [](const std::string& stop) {
            return stop.find_first_not_of(" \t\r\n") == std::string::npos;
        }))
        fields.refuse("stop_sequences", "must not contain a string of white space only");
    api::read_operator_settings(fields, context.limits, request);
}

/// Without the member, the model does not think. The budget may have any size. An unknown display is reported
/// as ignored.
ThinkingDisplay read_thinking(Fields& fields, const api::RequestLimits& limits,
                              chat::Conversation& conversation, generate::Request& request) {
    conversation.thinking = chat::Thinking::off;
    const Json* const given = fields.object("thinking");
    if (given == nullptr)
        return ThinkingDisplay::none;
    Fields thinking(*given, "thinking");
    thinking.require("type");
    const auto type = thinking.choice("type", {"enabled", "disabled", "adaptive"});
    using Limits = std::numeric_limits<int64_t>;
    const auto budget = thinking.integer("budget_tokens", Limits::min(), Limits::max());
    const auto display = thinking.hint("display", {"summarized", "omitted"});
    fields.adopt(thinking);
    if (type == 1U)
        return ThinkingDisplay::none;
    conversation.thinking = chat::Thinking::on;
    if (budget)
        api::limit_reasoning(request, limits, *budget);
    return display == 1U ? ThinkingDisplay::hidden : ThinkingDisplay::shown;
}

/// Reads a format: {"type": "json_schema", "schema": ...}.
void read_format(Fields& parent, const Json& given, const std::string& path, generate::Request& request) {
    Fields format(given, path);
    format.require("type");
    format.choice("type", {"json_schema"});
    format.require("schema");
    format.accept({"name"});
    if (request.grammar)
        format.refuse("type", "cannot be combined with another output format");
    if (!format.problem()) {
        request.grammar.emplace();
        api::read_schema(format, "schema", *request.grammar);
    }
    parent.adopt(format);
}

/// Reads `output_config`, and `output_format` of an earlier beta.
std::optional<api::ReasoningEffort> read_output_config(Fields& fields, generate::Request& request) {
    std::optional<api::ReasoningEffort> effort;
    if (const Json* const given = fields.object("output_config")) {
        Fields config(*given, "output_config");
        effort = api::read_effort(config, "effort");
        if (const Json* const format = config.object("format"))
            read_format(config, *format, "output_config.format", request);
        fields.adopt(config);
    }
    if (const Json* const format = fields.object("output_format"))
        read_format(fields, *format, "output_format", request);
    return effort;
}

/// Returns whether the answer continues the last message: it does if that is an assistant message.
bool read_continuation(Fields& fields, const chat::Conversation& conversation) {
    if (conversation.messages.empty() || conversation.messages.back().role != chat::Role::assistant)
        return false;
    const chat::Message& last = conversation.messages.back();
    if (!last.tool_calls.empty()) {
        fields.refuse("messages", fmt::format("end with the tool_use `{}`, which has no tool_result",
                                              last.tool_calls.back().id));
    }
    if (conversation.required_tool) {
        fields.refuse("tool_choice",
                      "cannot require a call: the answer has already started with the last message");
    }
    return true;
}

void note_betas(std::string_view betas, api::IgnoredMembers& ignored) {
    while (!betas.empty()) {
        const std::size_t end = std::min(betas.find(','), betas.size());
        std::string_view beta = betas.substr(0, end);
        betas.remove_prefix(std::min(end + 1, betas.size()));
        beta.remove_prefix(std::min(beta.find_first_not_of(' '), beta.size()));
        beta = beta.substr(0, beta.find_last_not_of(' ') + 1);
        if (!beta.empty())
            ignored.without_effect.push_back(fmt::format("anthropic-beta: {}", beta));
    }
}

void read_rest(Fields& fields) {
    fields.accept({"model", "stream", "cache_control"});
    if (const Json* const given = fields.object("metadata")) {
        Fields metadata(*given, "metadata");
        metadata.text("user_id");
        fields.adopt(metadata);
    }
    fields.hint("service_tier", {"auto", "standard_only"});
    fields.note({"context_management", "inference_geo", "speed"});
    if (fields.any("thread") != nullptr) { // after this error, clients send the entire conversation
        fields.refuse("thread", "is not supported: this server holds no conversations of this API",
                      std::string(unsupported_thread));
    }
    for (const std::string_view name : {"container", "mcp_servers"}) {
        if (const Json* const given = fields.any(name); given != nullptr && !given->empty())
            fields.refuse(name, "is not supported", "unsupported_parameter");
    }
}

} // namespace

ApiResult<MessagesRequest> read_messages_request(const Json& body, std::string_view betas, Purpose purpose,
                                                 const ThinkingSeal& seal,
                                                 const api::RequestContext& context) {
    Fields fields(body);
    MessagesRequest parsed = {.call = {.prompt_member = "messages"}};
    generate::Request request;
    chat::Conversation conversation;
    fields.require("model");
    fields.text("model");
    read_sampling(fields, purpose, context, request);
    read_messages(fields, seal, context.files, conversation);
    parsed.display = read_thinking(fields, context.limits, conversation, request);
    const auto effort = read_output_config(fields, request);
    api::apply_effort_budget(effort, context.limits, request);
    Tools tools = read_tools(fields);
    parsed.call.ends_after_call = !tools.has_parallel_calls;
    conversation.calls = tools.has_parallel_calls ? chat::CallCount::any : chat::CallCount::one;
    read_rest(fields);
    ETNA_CHECK(fields.status());
    parsed.call.tools = api::offer_tools(std::move(tools.offered), tools.choice, conversation);
    Json arguments = Json::object();
    if (effort)
        arguments["chat_template_kwargs"] = {{"reasoning_effort", body["output_config"]["effort"]}};
    if (read_continuation(fields, conversation)) {
        arguments["continue_final_message"] = true;
        arguments["add_generation_prompt"] = false;
    }
    ETNA_CHECK(fields.status());
    api::add_template_arguments(arguments, conversation);
    parsed.call.asks_for_thinking = body.contains("thinking");
    parsed.call.ignored = api::ignored_members(fields);
    note_betas(betas, parsed.call.ignored);
    request.prompt = std::move(conversation);
    parsed.call.requests.push_back(std::move(request));
    return parsed;
}

} // namespace etna::server::anthropic

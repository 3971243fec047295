#include "server/responses/request.hpp"

#include "core/generate/generation.hpp"
#include "server/fields.hpp"
#include "server/responses/items.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

constexpr std::size_t user_max = 64;
constexpr int64_t tokens_max = std::numeric_limits<int32_t>::max();

Json or_null(const std::optional<std::string>& text) {
    return text ? Json(*text) : Json(nullptr);
}

/// Reads `text.format`, the answer's format.
void read_format(Fields& text, Json& echoed, Request& request) {
    const Json* const given = text.object("format");
    if (given == nullptr)
        return;
    Fields format(*given, "text.format");
    format.require("type");
    const auto type = format.choice("type", {"text", "json_object", "json_schema"});
    echoed = *given;
    if (type == 1U)
        request.chat["response_format"] = {{"type", "json_object"}};
    if (type == 2U) {
        format.require("name");
        for (const std::string_view name : {"name", "description"})
            format.text(name);
        format.flag("strict");
        format.require("schema");
        Json schema = Json::object();
        for (const char* const name : {"name", "description", "strict", "schema"})
            schema[name] = given->value(name, Json());
        request.chat["response_format"] = {{"type", "json_schema"}, {"json_schema", std::move(schema)}};
        if (echoed.value("strict", Json()).is_null())
            echoed["strict"] = false;
    }
    text.adopt(format);
}

void read_text(Fields& fields, Request& request) {
    Json echoed = {{"format", {{"type", "text"}}}, {"verbosity", "medium"}};
    if (const Json* const given = fields.object("text")) {
        Fields text(*given, "text");
        constexpr std::array<std::string_view, 3> words = {"low", "medium", "high"};
        if (const auto verbosity = text.choice("verbosity", {words.begin(), words.end()}))
            echoed["verbosity"] = words[*verbosity];
        read_format(text, echoed["format"], request);
        fields.adopt(text);
    }
    request.echoed["text"] = std::move(echoed);
}

void read_reasoning(Fields& fields, Request& request) {
    Json echoed = {{"effort", nullptr}, {"summary", nullptr}};
    if (const Json* const given = fields.object("reasoning")) {
        Fields reasoning(*given, "reasoning");
        if (const auto effort = reasoning.text("effort")) {
            request.chat["reasoning_effort"] = *effort;
            echoed["effort"] = *effort;
        }
        const auto summary = reasoning.text("summary");
        const auto deprecated = reasoning.text("generate_summary");
        for (const std::string_view name : {"summary", "generate_summary"})
            reasoning.choice(name, {"auto", "concise", "detailed"});
        request.includes_summary = summary || deprecated;
        if (request.includes_summary)
            echoed["summary"] = summary ? *summary : *deprecated;
        if (reasoning.choice("context", {"auto", "current_turn", "all_turns"}))
            echoed["context"] = (*given)["context"];
        if (const auto mode = reasoning.text("mode"))
            echoed["mode"] = *mode;
        fields.adopt(reasoning);
    }
    request.echoed["reasoning"] = std::move(echoed);
}

void read_include(Fields& fields, Request& request) {
    const Json* const given = fields.list("include");
    constexpr std::array<std::string_view, 6> hosted_tool_outputs = {
        "file_search_call.results",
        "web_search_call.results",
        "web_search_call.action.sources",
        "message.input_image.image_url",
        "computer_call_output.output.image_url",
        "code_interpreter_call.outputs"}; // etna does not run these tools
    for (std::size_t i = 0; given != nullptr && i < given->size(); ++i) {
        const Json& name = (*given)[i];
        if (name == "message.output_text.logprobs") {
            request.included.logprobs = true;
        } else if (name == "reasoning.encrypted_content") {
            request.included.sealed_reasoning = true;
        } else if (!name.is_string() || std::find(hosted_tool_outputs.begin(), hosted_tool_outputs.end(),
                                                  name.get<std::string>()) == hosted_tool_outputs.end()) {
            fields.refuse(fmt::format("include[{}]", i), "is not a known output", "unsupported_value");
        }
    }
}

/// Reads the previous response or the conversation.
void read_prior_context(Fields& fields, Request& request) {
    request.previous = fields.text("previous_response_id");
    const Json* const given = fields.any("conversation");
    if (given != nullptr) {
        const Json id = given->is_object() ? given->value("id", Json()) : *given;
        if (id.is_string()) {
            request.conversation = id.get<std::string>();
        } else {
            fields.refuse("conversation", R"(must be an id or {"id": ...})", "invalid_type");
        }
    }
    if (request.previous && request.conversation)
        fields.refuse("conversation", "cannot be given together with `previous_response_id`");
    request.echoed["previous_response_id"] = or_null(request.previous);
    request.echoed["conversation"] =
        request.conversation ? Json({{"id", *request.conversation}}) : Json(nullptr);
}

void read_sampling(Fields& fields, Request& request) {
    for (const std::string_view name :
         {"temperature", "top_p", "presence_penalty", "frequency_penalty", "etna"}) {
        if (const Json* const given = fields.any(name))
            request.chat[std::string(name)] = *given; // checked by the chat's reader
    }
    const auto limit = fields.integer("max_output_tokens", 1, tokens_max);
    if (limit)
        request.chat["max_completion_tokens"] = *limit;
    request.echoed["max_output_tokens"] = limit ? Json(*limit) : Json(nullptr);
    const auto top = fields.integer("top_logprobs", 0, generate::logprobs_max);
    request.echoed["top_logprobs"] = top.value_or(0);
    if (request.included.logprobs) {
        request.chat["logprobs"] = true;
        request.chat["top_logprobs"] = top.value_or(0);
    }
    const auto calls = fields.integer("max_tool_calls", 1, tokens_max);
    request.echoed["max_tool_calls"] = calls ? Json(*calls) : Json(nullptr);
    if (calls)
        request.calls_max = static_cast<uint32_t>(*calls);
}

/// Reads the user identifiers, metadata and storage fields.
void read_storage(Fields& fields, Request& request) {
    request.echoed["metadata"] = read_metadata(fields);
    const auto user = fields.text("user");
    const auto identifier = fields.text("safety_identifier");
    const auto cache_key = fields.text("prompt_cache_key");
    for (const std::string_view name : {"safety_identifier", "prompt_cache_key"}) {
        if (characters_in(fields.text(name).value_or("")) > user_max) {
            fields.refuse(name, fmt::format("must have at most {} characters", user_max),
                          "string_above_max_length");
        }
    }
    if (user)
        request.echoed["user"] = *user;
    request.echoed["safety_identifier"] = or_null(user ? user : identifier);
    request.echoed["prompt_cache_key"] = or_null(cache_key);
    fields.choice("service_tier", {"auto", "default", "flex", "scale", "priority", "fast", "ultrafast"});
    request.echoed["service_tier"] = "default";
    request.stores = fields.flag("store").value_or(true);
    request.echoed["store"] = request.stores;
}

/// Events are never padded to obfuscate their lengths: a request for it is reported as without effect.
void read_stream_options(Fields& fields, Request& request) {
    const Json* const given = fields.object("stream_options");
    if (given == nullptr)
        return;
    if (!request.is_streamed)
        fields.refuse("stream_options", "requires `stream`: true");
    Fields options(*given, "stream_options");
    options.flag("include_obfuscation");
    options.note({"include_obfuscation"});
    request.without_effect = options.without_effect();
    options.accept({"include_usage"}); // the last event always has it
    fields.adopt(options);
}

/// Prompt cache retention fields: prompts are cached while there is room, regardless of the request.
void read_caching(Fields& fields, Request& request) {
    if (fields.choice("prompt_cache_retention", {"in_memory", "24h"}))
        request.echoed["prompt_cache_retention"] = *fields.text("prompt_cache_retention");
    const Json* const given = fields.object("prompt_cache_options");
    if (given == nullptr)
        return;
    Fields options(*given, "prompt_cache_options");
    options.choice("ttl", {"30m"});
    options.choice("mode", {"implicit", "explicit"});
    request.echoed["prompt_cache_options"] = {{"ttl", options.text("ttl").value_or("30m")},
                                              {"mode", options.text("mode").value_or("implicit")}};
    fields.adopt(options);
}

void read_execution(Fields& fields, Request& request) {
    request.is_streamed = fields.flag("stream").value_or(false);
    request.is_background = fields.flag("background").value_or(false);
    request.echoed["background"] = request.is_background;
    if (request.is_background && !request.stores)
        fields.refuse("background", "requires `store`: true, so that the response can be retrieved");
    read_stream_options(fields, request);
    request.truncates = fields.choice("truncation", {"disabled", "auto"}) == 1U;
    request.echoed["truncation"] = request.truncates ? "auto" : "disabled";
    for (const std::string_view name : {"prompt", "context_management", "moderation"}) {
        if (const Json* const given = fields.any(name); given != nullptr && !given->empty())
            fields.refuse(name, "is not supported", "unsupported_parameter");
    }
    read_caching(fields, request);
    fields.accept({"model"});
}

struct RenamedField {
    std::string_view chat;
    std::string_view responses;
};

/// Chat fields that concern a chat's messages or choices, which a response does not have.
constexpr std::array<std::string_view, 4> chat_only_fields = {
    "messages", "prompt_logprobs", "return_token_ids", "return_tokens_as_token_ids"};

bool is_chat_only(std::string_view name) {
    return std::find(chat_only_fields.begin(), chat_only_fields.end(), name) != chat_only_fields.end();
}

/// The first match is used.
constexpr std::array<RenamedField, 7> renamed_fields = {{{"response_format.json_schema", "text.format"},
                                                         {"response_format", "text.format"},
                                                         {"max_completion_tokens", "max_output_tokens"},
                                                         {"reasoning_effort", "reasoning.effort"},
                                                         {"tool_choice.allowed_tools", "tool_choice"},
                                                         {"messages", "input"},
                                                         {"logprobs", "include"}}};

} // namespace

ApiResult<Request> read_request(const Json& body, Purpose purpose) {
    Fields fields(body);
    Request request;
    if (purpose == Purpose::answer && fields.any("previous_response_id") == nullptr &&
        fields.any("conversation") == nullptr)
        fields.require("input");
    request.input = read_items(fields, "input");
    request.instructions = fields.text("instructions");
    request.echoed["instructions"] = or_null(request.instructions);
    read_prior_context(fields, request);
    Tools tools = read_tools(fields);
    request.chat = std::move(tools.chat);
    request.echoed["tools"] = std::move(tools.echoed);
    request.echoed["tool_choice"] = std::move(tools.echoed_choice);
    request.echoed["parallel_tool_calls"] = tools.has_parallel_calls;
    request.tool_names = std::move(tools.names);
    request.offered = std::move(tools.offered);
    for (const std::string& type : tools.hosted)
        request.ignored.push_back("tools." + type);
    read_text(fields, request);
    read_reasoning(fields, request);
    read_include(fields, request);
    read_sampling(fields, request);
    read_storage(fields, request);
    read_execution(fields, request);
    ETNA_CHECK(fields.status());
    for (const std::string& name : fields.unknown()) {
        if (body.contains(name) && !is_chat_only(name) && !request.chat.contains(name)) {
            request.chat[name] = body[name];
        } else {
            request.ignored.push_back(name);
        }
    }
    const Json choices = request.chat.value("n", Json());
    if (!choices.is_null() && choices != 1) {
        return ApiError{
            .message = "`n` must be 1: a response has one answer", .param = "n", .code = "unsupported_value"};
    }
    request.chat["stream"] = request.is_streamed;
    return request;
}

ApiError map_to_responses(ApiError error, const Request& request) {
    if (!error.param)
        return error;
    map_tool_error(error, request.offered);
    for (const RenamedField& name : renamed_fields) {
        if (!error.param->starts_with(name.chat))
            continue;
        const std::string old = *error.param;
        error.param = std::string(name.responses) + old.substr(name.chat.size());
        const std::size_t at = error.message.find(old);
        if (at != std::string::npos)
            error.message.replace(at, old.size(), *error.param);
        break;
    }
    return error;
}

} // namespace etna::server::responses

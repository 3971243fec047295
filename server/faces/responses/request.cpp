#include "server/faces/responses/request.hpp"

#include "core/base/utf8.hpp"
#include "core/generate/generation.hpp"
#include "server/api/reasoning_fields.hpp"
#include "server/api/sampling_fields.hpp"
#include "server/api/structured_output.hpp"
#include "server/base/fields.hpp"
#include "server/faces/responses/items.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace etna::server::responses {
namespace {

constexpr std::size_t user_max = 64;
constexpr int64_t calls_max = std::numeric_limits<int32_t>::max();

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
    request.format = static_cast<AnswerFormat>(type.value_or(0));
    if (request.format == AnswerFormat::json_schema) {
        format.require("name");
        for (const std::string_view name : {"name", "description"})
            format.text(name);
        format.flag("strict");
        format.require("schema");
        request.schema = {{"schema", given->value("schema", Json())}};
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
        if (const auto verbosity = text.hint("verbosity", {words.begin(), words.end()}))
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
        request.effort = api::read_effort(reasoning, "effort");
        if (request.effort)
            echoed["effort"] = (*given)["effort"];
        constexpr std::array<std::string_view, 3> summaries = {"auto", "concise", "detailed"};
        const auto summary = reasoning.hint("summary", {summaries.begin(), summaries.end()});
        const auto deprecated = reasoning.hint("generate_summary", {summaries.begin(), summaries.end()});
        request.includes_summary = reasoning.text("summary") || reasoning.text("generate_summary");
        if (request.includes_summary)
            echoed["summary"] = summaries.at(summary.value_or(deprecated.value_or(0)));
        if (reasoning.hint("context", {"auto", "current_turn", "all_turns"}))
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
        } else if (name == "etna.timings") {
            request.included.timings = true;
        } else if (!name.is_string()) {
            fields.refuse(fmt::format("include[{}]", i), "must be a string", "invalid_type");
        } else if (std::find(hosted_tool_outputs.begin(), hosted_tool_outputs.end(),
                             name.get<std::string>()) == hosted_tool_outputs.end()) {
            fields.note_nested(fmt::format("include[{}]", i));
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
            request.shared[std::string(name)] = *given;
    }
    generate::Request limited;
    if (api::read_length(fields, "max_output_tokens", 1, limited))
        request.shared["max_output_tokens"] = *fields.any("max_output_tokens");
    request.echoed["max_output_tokens"] = limited.max_tokens ? Json(*limited.max_tokens) : Json(nullptr);
    const auto top = fields.integer("top_logprobs", 0, generate::logprobs_max);
    request.echoed["top_logprobs"] = top.value_or(0);
    if (request.included.logprobs)
        request.logprobs = static_cast<uint32_t>(top.value_or(0));
    const auto calls = fields.integer("max_tool_calls", 1, calls_max);
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
    fields.hint("service_tier", {"auto", "default", "flex", "scale", "priority", "fast", "ultrafast"});
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
    options.accept({"include_usage"}); // the last event always has it
    fields.adopt(options);
}

/// Prompt cache retention fields: prompts are cached while there is room, regardless of the request.
void read_caching(Fields& fields, Request& request) {
    if (fields.hint("prompt_cache_retention", {"in_memory", "24h"}))
        request.echoed["prompt_cache_retention"] = *fields.text("prompt_cache_retention");
    const Json* const given = fields.object("prompt_cache_options");
    if (given == nullptr)
        return;
    Fields options(*given, "prompt_cache_options");
    constexpr std::array<std::string_view, 2> modes = {"implicit", "explicit"};
    options.hint("ttl", {"30m"});
    const auto mode = options.hint("mode", {modes.begin(), modes.end()});
    request.echoed["prompt_cache_options"] = {{"ttl", "30m"}, {"mode", modes.at(mode.value_or(0))}};
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

/// Reads the answer's format. Returns whether the model must be prompted for any JSON object.
bool read_constraint(Fields& fields, const Request& request, generate::Request& generation) {
    if (request.format == AnswerFormat::text)
        return false;
    if (generation.grammar) {
        fields.refuse("text.format.type", "cannot be combined with another output format");
        return false;
    }
    generation.grammar = api::json_object_description(generation);
    if (request.format == AnswerFormat::json_object)
        return true;
    Fields format(request.schema, "text.format");
    api::read_schema(format, "schema", *generation.grammar);
    return false;
}

} // namespace

ApiResult<Request> read_request(const Json& body, Purpose purpose, const api::FileTexts& files) {
    Fields fields(body);
    Request request;
    if (purpose == Purpose::answer && fields.any("previous_response_id") == nullptr &&
        fields.any("conversation") == nullptr)
        fields.require("input");
    request.input = read_items(fields, "input", files);
    request.instructions = fields.text("instructions");
    request.echoed["instructions"] = or_null(request.instructions);
    read_prior_context(fields, request);
    request.tools = read_tools(fields);
    request.echoed["tools"] = std::move(request.tools.echoed);
    request.echoed["tool_choice"] = std::move(request.tools.echoed_choice);
    request.echoed["parallel_tool_calls"] = request.tools.has_parallel_calls;
    for (const std::string& type : request.tools.hosted)
        request.ignored.unknown.push_back("tools." + type);
    read_text(fields, request);
    read_reasoning(fields, request);
    read_include(fields, request);
    read_sampling(fields, request);
    read_storage(fields, request);
    read_execution(fields, request);
    ETNA_CHECK(fields.status());
    request.ignored.without_effect = fields.without_effect();
    for (const std::string& name : fields.unknown()) {
        if (body.contains(name)) {
            request.shared[name] = body[name];
        } else {
            request.ignored.unknown.push_back(name); // inside a member of this API
        }
    }
    const Json choices = request.shared.value("n", Json());
    if (!choices.is_null() && choices != 1) {
        return ApiError{
            .message = "`n` must be 1: a response has one answer", .param = "n", .code = "unsupported_value"};
    }
    return request;
}

ApiResult<api::GenerationCall> generation_call(const Request& request, std::vector<chat::Message> messages,
                                               const api::RequestContext& context) {
    Fields fields(request.shared);
    generate::Request generation;
    api::read_generation(fields, context, request.is_streamed, generation,
                         {.names = {"max_output_tokens", "max_completion_tokens", "max_tokens"}});
    api::check_ignored_end(fields, context.limits, generation);
    api::read_prediction(fields, generation);
    generation.logprobs = request.logprobs;
    chat::Conversation conversation = {.messages = std::move(messages),
                                       .calls = request.tools.has_parallel_calls ? chat::CallCount::any
                                                                                 : chat::CallCount::one};
    if (request.instructions) {
        conversation.messages.insert(conversation.messages.begin(),
                                     {.role = chat::Role::system, .content = *request.instructions});
    }
    api::GenerationCall call = {.prompt_member = "input"};
    call.tools = api::offer_tools(request.tools.functions, request.tools.choice, conversation);
    if (read_constraint(fields, request, generation) && !conversation.required_tool)
        api::add_instruction(conversation, api::json_instruction);
    const auto of_chats = api::read_effort(fields, "reasoning_effort");
    const auto effort = request.effort ? request.effort : of_chats;
    api::read_template_arguments(fields, effort, conversation);
    api::apply_effort_budget(effort, context.limits, generation);
    api::check_continuation(fields, conversation);
    ETNA_CHECK(fields.status());
    call.ignored = api::ignored_members(fields);
    call.ignored.add(request.ignored);
    generation.prompt = std::move(conversation);
    call.requests.push_back(std::move(generation));
    return call;
}

} // namespace etna::server::responses

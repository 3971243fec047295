#include "server/openai/chat_request.hpp"

#include "server/openai/chat_response.hpp"
#include "server/openai/format_fields.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

/// Members of OpenAI's API that change nothing here.
const std::vector<std::string_view> without_effect = {"user", "metadata", "safety_identifier",
                                                      "prompt_cache_key", "service_tier"};

constexpr std::string_view json_instruction = "Answer with one JSON object and nothing else.";

/// Roles and contents, so that a mistake is told with its place; what stands in them is the template's
/// matter.
void check_messages(Fields& fields, const Json& messages) {
    constexpr std::array<std::string_view, 6> roles = {"system",    "developer", "user",
                                                       "assistant", "tool",      "function"};
    if (messages.empty())
        fields.refuse("messages", "is empty");
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const std::string path = fmt::format("messages[{}]", i);
        if (!messages[i].is_object())
            return fields.refuse(path, "must be an object", "invalid_type");
        Fields message(messages[i], path);
        message.require("role");
        message.choice("role", {roles.begin(), roles.end()});
        const Json* content = message.any("content");
        if (content != nullptr && !content->is_string() && !content->is_array())
            message.refuse("content", "must be a string or a list of parts", "invalid_type");
        for (std::size_t part = 0; content != nullptr && content->is_array() && part < content->size();
             ++part) {
            const Json& one = (*content)[part];
            const bool is_text = one.is_object() && one.contains("text") && one["text"].is_string();
            if (!is_text)
                message.refuse(fmt::format("content[{}]", part),
                               "is no part of text, and this model reads text only");
        }
        if (message.problem())
            return fields.adopt(*message.problem());
    }
}

/// The name that a tool_choice demands; empty for "required".
std::optional<std::string> demanded_tool(Fields& fields, const Json& choice) {
    if (choice == "required")
        return "";
    if (choice.is_object() && choice.contains("function") && choice["function"].is_object() &&
        choice["function"].contains("name") && choice["function"]["name"].is_string())
        return choice["function"]["name"].get<std::string>();
    if (choice != "auto" && choice != "none")
        fields.refuse(
            "tool_choice",
            R"(must be "none", "auto", "required" or {"type": "function", "function": {"name": ...}})");
    return std::nullopt;
}

bool offers(const Json& tools, const std::string& name) {
    return std::any_of(tools.begin(), tools.end(), [&](const Json& tool) {
        return name.empty() ||
               (tool.contains("function") ? tool["function"] : tool).value("name", "") == name;
    });
}

void check_tools(Fields& fields, const Json& tools) {
    for (std::size_t i = 0; i < tools.size(); ++i) {
        const std::string path = fmt::format("tools[{}]", i);
        const bool is_function =
            tools[i].is_object() && tools[i].value("type", Json("function")) == "function" &&
            tools[i].contains("function") && tools[i]["function"].is_object() &&
            tools[i]["function"].contains("name") && tools[i]["function"]["name"].is_string();
        if (!is_function)
            return fields.refuse(
                path, R"(must be {"type": "function", "function": {"name": ..., "parameters": ...}})");
    }
}

void read_tools(Fields& fields, chat::Conversation& conversation) {
    const Json* tools = fields.list("tools");
    const Json* choice = fields.any("tool_choice");
    if (tools != nullptr)
        check_tools(fields, *tools);
    if (fields.problem())
        return;
    const auto demanded = choice == nullptr ? std::nullopt : demanded_tool(fields, *choice);
    if (demanded && (tools == nullptr || !offers(*tools, *demanded)))
        return fields.refuse("tool_choice",
                             demanded->empty()
                                 ? "needs `tools`"
                                 : fmt::format("names `{}`, which is not among the tools", *demanded));
    if (tools == nullptr || tools->empty() || (choice != nullptr && *choice == "none"))
        return;
    conversation.tools = text_of(*tools);
    conversation.demanded_tool = demanded;
}

void add_instruction(Json& messages, std::string_view text) {
    if (!messages.empty() && (messages[0]["role"] == "system" || messages[0]["role"] == "developer") &&
        messages[0]["content"].is_string()) {
        messages[0]["content"] = messages[0]["content"].get<std::string>() + "\n\n" + std::string(text);
    } else {
        messages.insert(messages.begin(), Json({{"role", "system"}, {"content", text}}));
    }
}

/// Calls are no part of a grammar yet: an answer that may call tools is told of JSON in words alone, and is
/// not kept to anything else.
void check_format(Fields& fields, const chat::Conversation& conversation, bool is_told,
                  generate::Request& request) {
    if (!request.grammar || conversation.tools.empty())
        return;
    if (is_told) {
        request.grammar.reset();
        return;
    }
    fields.refuse("response_format", "and other formats of the answer cannot be kept to beside `tools` yet",
                  "unsupported_value");
}

/// What reaches the template beside messages and tools.
Json template_arguments(Fields& fields, chat::Conversation& conversation) {
    Json arguments = Json::object();
    if (const Json* documents = fields.list("documents"))
        arguments["documents"] = *documents;
    Json kwargs = Json::object();
    if (const Json* given = fields.object("chat_template_kwargs"))
        kwargs = *given;
    if (const auto effort =
            fields.choice("reasoning_effort", {"none", "minimal", "low", "medium", "high", "xhigh", "max"})) {
        constexpr std::array<std::string_view, 7> names = {"none", "minimal", "low", "medium",
                                                           "high", "xhigh",   "max"};
        if (*effort == 0)
            conversation.thinking = chat::Thinking::off;
        kwargs.emplace("reasoning_effort", names[*effort]);
    }
    if (!kwargs.empty())
        arguments["chat_template_kwargs"] = std::move(kwargs);
    const bool continues = fields.flag("continue_final_message").value_or(false);
    const auto adds_prompt = fields.flag("add_generation_prompt");
    if (continues && adds_prompt == true)
        fields.refuse("continue_final_message", "cannot be true together with `add_generation_prompt`");
    if (continues) {
        arguments["continue_final_message"] = true;
        arguments["add_generation_prompt"] = false;
    } else if (adds_prompt) {
        arguments["add_generation_prompt"] = *adds_prompt;
    }
    return arguments;
}

/// What speaks to a template: without one it has no effect, and is told so.
constexpr std::array<std::string_view, 8> template_members = {"tools",
                                                              "tool_choice",
                                                              "response_format",
                                                              "documents",
                                                              "chat_template_kwargs",
                                                              "reasoning_effort",
                                                              "continue_final_message",
                                                              "add_generation_prompt"};

/// nvext.use_raw_prompt: the contents, without a template.
std::optional<std::string> raw_prompt(const Json& body, const Json& messages) {
    if (!body.contains("nvext") || !body["nvext"].is_object() ||
        body["nvext"].value("use_raw_prompt", Json(false)) != true)
        return std::nullopt;
    std::string text;
    for (const Json& message : messages) {
        const auto content = message.find("content");
        if (content == message.end() || content->is_null())
            continue;
        if (content->is_string()) {
            text += content->get<std::string>();
            continue;
        }
        for (const Json& part : *content)
            text += part["text"].get<std::string>();
    }
    return text;
}

void read_conversation(Fields& fields, const Json& body, generate::Request& request) {
    fields.require("messages");
    const Json* given = fields.list("messages");
    if (given == nullptr)
        return;
    check_messages(fields, *given);
    if (fields.problem())
        return;
    Json messages = *given;
    chat::Conversation conversation;
    read_tools(fields, conversation);
    const bool is_told = read_response_format(fields, request);
    if (is_told)
        add_instruction(messages, json_instruction);
    check_format(fields, conversation, is_told, request);
    conversation.template_arguments = text_of(template_arguments(fields, conversation));
    if (auto raw = raw_prompt(body, *given)) {
        for (const std::string_view name : template_members) {
            if (fields.any(name) != nullptr)
                fields.adopt_unknown({std::string(name)});
        }
        request.prompt = std::move(*raw);
        return;
    }
    auto parsed = chat::parse_conversation(text_of(Json({{"messages", std::move(messages)}})));
    if (!parsed)
        return fields.refuse("messages", fmt::format("cannot be read: {}", parsed.error().message));
    conversation.messages = std::move(parsed->messages);
    request.prompt = std::move(conversation);
}

void read_logprobs(Fields& fields, generate::Request& request) {
    const bool wants = fields.flag("logprobs").value_or(false);
    const auto top = fields.integer("top_logprobs", 0, generate::logprobs_max);
    if (top && !wants)
        fields.refuse("top_logprobs", "needs `logprobs`: true");
    if (wants)
        request.logprobs = static_cast<uint32_t>(top.value_or(0));
}

} // namespace

std::variant<GenerationCall, ApiError> read_chat(const Json& body, const RequestContext& context) {
    Fields fields(body);
    GenerationCall call;
    generate::Request request;
    read_delivery(fields, call.delivery);
    read_generation(fields, context, call.delivery.is_streamed, request);
    if (request.max_tokens == 0U)
        fields.refuse("max_tokens", "must be at least 1", "integer_below_min_value");
    read_logprobs(fields, request);
    read_conversation(fields, body, request);
    const bool has_parallel_calls = fields.flag("parallel_tool_calls").value_or(true);
    fields.accept(without_effect);
    fields.accept({"model"});
    if (fields.problem())
        return *fields.problem();
    call.delivery.ignored = fields.unknown();
    const ChatForm form = {.tells_logprobs = request.logprobs.has_value(),
                           .has_parallel_calls = has_parallel_calls};
    call.writer = [form](uint32_t choice) { return std::make_unique<ChatChoice>(choice, form); };
    call.whole = [] { return std::make_unique<ChatMessage>(); };
    call.requests.push_back(std::move(request));
    return call;
}

} // namespace etna::server::openai

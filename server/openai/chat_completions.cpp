// POST /v1/chat/completions: the request, and the endpoint. Sources: OpenAI API 2.3.0; the descriptions of
// the same endpoint by Dynamo and OVMS.

#include "core/jinja/json_value.hpp"
#include "server/fields.hpp"
#include "server/openai/chat_response.hpp"
#include "server/openai/endpoints.hpp"
#include "server/openai/format_fields.hpp"
#include "server/openai/generation_endpoint.hpp"
#include "server/openai/message_fields.hpp"
#include "server/openai/tool_fields.hpp"

#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

constexpr std::string_view json_instruction = "Answer with one JSON object and nothing else.";

void add_instruction(Json& messages, std::string_view text) {
    if (!messages.empty() && (messages[0]["role"] == "system" || messages[0]["role"] == "developer") &&
        messages[0]["content"].is_string()) {
        messages[0]["content"] = messages[0]["content"].get<std::string>() + "\n\n" + std::string(text);
    } else {
        messages.insert(messages.begin(), Json({{"role", "system"}, {"content", text}}));
    }
}

/// The template arguments other than messages and tools.
Json template_arguments(Fields& fields, chat::Conversation& conversation) {
    Json arguments = Json::object();
    if (const Json* documents = fields.list("documents"))
        arguments["documents"] = *documents;
    Json kwargs = Json::object();
    if (const Json* given = fields.object("chat_template_kwargs")) {
        kwargs = *given;
        for (const auto& [name, value] : kwargs.items()) {
            if (chat::is_reserved_variable(name))
                fields.refuse("chat_template_kwargs." + name, std::string(chat::reserved_variable_problem));
        }
    }
    if (const auto effort =
            fields.choice("reasoning_effort", {"none", "minimal", "low", "medium", "high", "xhigh", "max"})) {
        constexpr std::array<std::string_view, 7> names = {"none", "minimal", "low", "medium",
                                                           "high", "xhigh",   "max"};
        constexpr std::size_t low = 2; // below it, thinking is left to the model's default
        if (*effort == 0) {
            conversation.thinking = chat::Thinking::off;
        } else if (*effort >= low) {
            conversation.thinking = chat::Thinking::on;
        }
        kwargs.emplace("reasoning_effort", names[*effort]);
    }
    for (const std::string_view name : {"enable_thinking", "thinking"}) { // explicit arguments win
        if (const Json value = kwargs.value(std::string(name), Json()); value.is_boolean())
            conversation.thinking = value == true ? chat::Thinking::on : chat::Thinking::off;
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

/// Checks continue_final_message: the last message is the start of the answer.
void check_continuation(Fields& fields, const Json& messages, const chat::Conversation& conversation) {
    if (!fields.flag("continue_final_message").value_or(false))
        return;
    if (messages.back()["role"] != "assistant") {
        fields.refuse("continue_final_message",
                      "requires that the last message has the role assistant; its text is continued");
    }
    if (conversation.required_tool) {
        fields.refuse(
            "tool_choice",
            "cannot require a call together with `continue_final_message`: the answer has already started");
    }
}

/// Fields that only a template uses: without one they have no effect, and are reported.
constexpr std::array<std::string_view, 11> template_fields = {
    "parse_special",        "tools",     "tool_choice",          "functions",        "function_call",
    "response_format",      "documents", "chat_template_kwargs", "reasoning_effort", "continue_final_message",
    "add_generation_prompt"};

/// nvext.use_raw_prompt: the message contents, without a template.
std::optional<std::string> raw_prompt(const Json& body, const Json& messages) {
    if (!body.contains("nvext") || !body["nvext"].is_object() ||
        body["nvext"].value("use_raw_prompt", Json(false)) != true)
        return std::nullopt;
    std::string text;
    for (const Json& message : messages)
        text += text_of_content(message);
    return text;
}

RequestTools read_conversation(Fields& fields, const Json& body, chat::CallCount calls,
                               generate::Request& request) {
    fields.require("messages");
    const Json* given = fields.list("messages");
    if (given == nullptr)
        return {};
    check_messages(fields, *given);
    if (fields.problem())
        return {};
    Json messages = with_functions_only(*given);
    chat::Conversation conversation = {.calls = calls};
    RequestTools tools = read_tools(fields, conversation);
    if (read_response_format(fields, request) && !conversation.required_tool)
        add_instruction(messages, json_instruction);
    const Json arguments = template_arguments(fields, conversation);
    for (const auto& [name, value] : arguments.items())
        conversation.template_arguments.emplace_back(name, jinja::value_of_json(value));
    if (fields.flag("parse_special").value_or(false))
        conversation.spelled_tokens = chat::SpelledTokens::all;
    check_continuation(fields, *given, conversation);
    if (auto raw = raw_prompt(body, *given)) {
        for (const std::string_view name : template_fields) {
            if (fields.any(name) != nullptr)
                fields.adopt_unknown({std::string(name)});
        }
        request.prompt = std::move(*raw);
        return {};
    }
    auto parsed = chat::read_conversation(jinja::Value::dict({{"messages", jinja::value_of_json(messages)}}));
    if (!parsed) {
        fields.refuse("messages", fmt::format("cannot be read: {}", message_for_client(parsed.error())));
        return {};
    }
    conversation.messages = std::move(parsed->messages);
    request.prompt = std::move(conversation);
    return tools;
}

void read_logprobs(Fields& fields, generate::Request& request) {
    const bool is_requested = fields.flag("logprobs").value_or(false);
    const auto top = fields.integer("top_logprobs", 0, generate::logprobs_max);
    if (top && !is_requested)
        fields.refuse("top_logprobs", "requires `logprobs`: true");
    if (is_requested)
        request.logprobs = static_cast<uint32_t>(top.value_or(0));
}

/// Empty if the chat is not to be stored, or cannot be.
std::optional<ChatToStore> read_store(Fields& fields, const Json& body, bool can_store) {
    constexpr std::array<std::string_view, 8> repeated = {
        "tools", "tool_choice",      "response_format",   "temperature",
        "top_p", "presence_penalty", "frequency_penalty", "user"};
    if (!fields.flag("store").value_or(false) || !can_store)
        return std::nullopt;
    ChatToStore chat = {.messages = body.value("messages", Json()),
                        .metadata = read_metadata(fields),
                        .request_fields = Json::object()};
    for (const std::string_view name : repeated)
        chat.request_fields[std::string(name)] = body.value(std::string(name), Json());
    return chat;
}

} // namespace

ApiResult<GenerationCall> read_chat(const Json& body, const RequestContext& context) {
    Fields fields(body);
    GenerationCall call;
    generate::Request request;
    read_output_options(fields, call.output_options);
    fields.integer("max_tokens", 1, std::numeric_limits<int32_t>::max()); // only completions allow 0
    read_generation(fields, context, call.output_options.is_streamed, request);
    check_ignored_end(fields, context.limits, request);
    if (fields.flag("detokenize") == false) {
        fields.refuse("detokenize",
                      "cannot be false for chats, which are parsed from text; use completions for token ids",
                      "unsupported_value");
    }
    read_logprobs(fields, request);
    request.prompt_logprobs = read_prompt_logprobs(fields);
    const bool has_parallel_calls = fields.flag("parallel_tool_calls").value_or(true);
    RequestTools tools = read_conversation(
        fields, body, has_parallel_calls ? chat::CallCount::any : chat::CallCount::one, request);
    call.tools = std::move(tools.offered);
    read_prediction(fields, request);
    const TokenIdOptions token_ids = read_token_id_options(fields);
    call.stored_chat = read_store(fields, body, context.can_store);
    accept_without_effect(fields, call.stored_chat.has_value());
    fields.accept({"model"});
    ETNA_CHECK(fields.status());
    collect_ignored(fields, call.output_options);
    const ChatOptions options = {.includes_logprobs = request.logprobs.has_value(),
                                 .token_names = token_ids.ids_as_names ? TokenNames::ids : TokenNames::text,
                                 .has_parallel_calls = has_parallel_calls && !tools.are_legacy,
                                 .included_stops = included_stops(request, *context.tokenizer),
                                 .custom_tools = std::move(tools.custom)};
    if (needs_tokens(token_ids, call.output_options) && !request.logprobs)
        request.logprobs = 0; // makes tokens arrive one by one
    const bool continues = fields.flag("continue_final_message").value_or(false) ||
                           !std::holds_alternative<chat::Conversation>(request.prompt);
    const PendingLogprobs pending(request, *context.tokenizer,
                                  continues ? text::TextPosition::continuation : text::TextPosition::start);
    call.make_stream = [options, pending](uint32_t choice, std::span<const TokenId> /*prompt*/) {
        return std::make_unique<ChatChoiceStream>(choice, options, pending);
    };
    call.make_aggregator = [] { return std::make_unique<ChatAggregator>(); };
    if (request.prompt_logprobs) {
        add_prompt_logprobs(call, *request.prompt_logprobs);
        call.transforms.push_back(lift_prompt_logprobs);
    }
    if (token_ids.ids) {
        add_token_ids(call);
        call.transforms.push_back(lift_prompt_token_ids);
    }
    if (tools.are_legacy)
        call.transforms.emplace_back(use_legacy_call);
    call.requests.push_back(std::move(request));
    return call;
}

ApiResult<HttpReply> chat_completions(Service& service, const HttpRequest& request, const Call& call) {
    static const EndpointSpec spec = {.endpoint = "chat_completions",
                                      .id_prefix = "chatcmpl-",
                                      .object = "chat.completion",
                                      .chunk_object = "chat.completion.chunk",
                                      .prompt_member = "messages",
                                      .read = read_chat};
    return serve_generation(service, request, call, spec);
}

} // namespace etna::server::openai

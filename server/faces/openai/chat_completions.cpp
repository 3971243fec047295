// POST /v1/chat/completions: the request, and the endpoint. Sources: OpenAI API 2.3.0; the descriptions of
// the same endpoint by Dynamo and OVMS.

#include "core/jinja/json_value.hpp"
#include "server/api/reasoning_control.hpp"
#include "server/api/reasoning_fields.hpp"
#include "server/api/request_body.hpp"
#include "server/api/structured_output.hpp"
#include "server/api/template_arguments.hpp"
#include "server/base/fields.hpp"
#include "server/faces/openai/chat_response.hpp"
#include "server/faces/openai/endpoints.hpp"
#include "server/faces/openai/generation_endpoint.hpp"
#include "server/faces/openai/message_fields.hpp"
#include "server/faces/openai/response_format.hpp"
#include "server/faces/openai/tool_fields.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

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

RequestTools read_conversation(Fields& fields, const Json& body, const api::RequestContext& context,
                               chat::CallCount calls, generate::Request& request) {
    fields.require("messages");
    const Json* const list = fields.list("messages");
    if (list == nullptr)
        return {};
    const auto with_texts = with_file_texts(fields, *list, context.files);
    const Json& given = with_texts ? *with_texts : *list;
    check_messages(fields, given);
    if (fields.problem())
        return {};
    chat::Conversation conversation = {.calls = calls};
    RequestTools tools = read_tools(fields, conversation);
    const bool is_any_object = read_response_format(fields, request) && !conversation.required_tool;
    const auto effort = api::read_effort(fields, "reasoning_effort");
    api::read_template_arguments(fields, effort, conversation);
    api::apply_effort_budget(effort, context.limits, request);
    if (auto raw = raw_prompt(body, given)) {
        for (const std::string_view name : template_fields) {
            if (fields.any(name) != nullptr)
                fields.adopt_unknown({std::string(name)});
        }
        request.prompt = std::move(*raw);
        return {};
    }
    auto parsed = chat::read_conversation(
        jinja::Value::dict({{"messages", jinja::value_of_json(with_functions_only(given))}}));
    if (!parsed) {
        fields.refuse("messages", fmt::format("cannot be read: {}", message_for_client(parsed.error())));
        return {};
    }
    conversation.messages = std::move(parsed->messages);
    api::check_continuation(fields, conversation);
    if (is_any_object)
        api::add_instruction(conversation, api::json_instruction);
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

ApiResult<GenerationRequest> read_chat(const Json& body, const api::RequestContext& context) {
    Fields fields(body);
    GenerationRequest parsed;
    generate::Request request;
    read_output_options(fields, parsed.output_options);
    api::read_generation(fields, context, parsed.output_options.is_streamed, request);
    api::check_ignored_end(fields, context.limits, request);
    if (fields.flag("detokenize") == false) {
        fields.refuse("detokenize",
                      "cannot be false for chats, which are parsed from text; use completions for token ids",
                      "unsupported_value");
    }
    read_logprobs(fields, request);
    request.prompt_logprobs = read_prompt_logprobs(fields);
    const bool has_parallel_calls = fields.flag("parallel_tool_calls").value_or(true);
    RequestTools tools = read_conversation(
        fields, body, context, has_parallel_calls ? chat::CallCount::any : chat::CallCount::one, request);
    parsed.call.prompt_member = "messages";
    parsed.call.tools = std::move(tools.offered);
    parsed.call.call_id_prefix = "call_";
    parsed.call.ends_after_call = !has_parallel_calls || tools.are_legacy;
    api::read_prediction(fields, request);
    const TokenIdOptions token_ids = read_token_id_options(fields);
    parsed.stored_chat = read_store(fields, body, context.can_store);
    accept_without_effect(fields, parsed.stored_chat.has_value());
    fields.accept({"model"});
    ETNA_CHECK(fields.status());
    parsed.call.ignored = api::ignored_members(fields);
    const ChatOptions options = {.includes_logprobs = request.logprobs.has_value(),
                                 .token_names = token_ids.ids_as_names ? TokenNames::ids : TokenNames::text,
                                 .custom_tools = std::move(tools.custom)};
    if (needs_tokens(token_ids, parsed.output_options) && !request.logprobs)
        request.logprobs = 0; // makes tokens arrive one by one
    const bool continues = fields.flag("continue_final_message").value_or(false) ||
                           !std::holds_alternative<chat::Conversation>(request.prompt);
    const generate::PendingLogprobs pending(request, *context.tokenizer,
                                            continues ? text::TextPosition::continuation
                                                      : text::TextPosition::start);
    parsed.make_stream = [options, pending](uint32_t choice, std::span<const TokenId> /*prompt*/) {
        return std::make_unique<ChatChoiceStream>(choice, options, pending);
    };
    parsed.write_choice = [options](uint32_t choice, std::span<const TokenId> /*prompt*/,
                                    const generate::CollectedAnswer& answer) {
        return chat_choice_json(choice, options, answer);
    };
    parsed.collected.keeps_prompt = request.prompt_logprobs.has_value();
    if (options.includes_logprobs)
        parsed.collected.logprobs = pending;
    if (request.prompt_logprobs) {
        add_prompt_logprobs(parsed, *request.prompt_logprobs);
        parsed.transforms.push_back(lift_prompt_logprobs);
    }
    if (token_ids.ids) {
        add_token_ids(parsed);
        parsed.transforms.push_back(lift_prompt_token_ids);
    }
    if (tools.are_legacy)
        parsed.transforms.emplace_back(use_legacy_call);
    parsed.call.requests.push_back(std::move(request));
    return parsed;
}

ApiResult<HttpReply> chat_completions(AnswerServices& services, const HttpRequest& request,
                                      const RoutedRequest& routed) {
    static const EndpointSpec spec = {.endpoint = "chat_completions",
                                      .id_prefix = "chatcmpl-",
                                      .object = "chat.completion",
                                      .chunk_object = "chat.completion.chunk",
                                      .read = read_chat};
    return serve_generation(services, request, routed, spec);
}

ApiResult<HttpReply> control_chat(AnswerServices& services, const HttpRequest& request,
                                  const RoutedRequest& /*routed*/) {
    ETNA_TRY(const auto body, parse_body(request));
    Fields fields(body);
    fields.require("id");
    const auto id = fields.text("id");
    fields.accept({"action", "model"});
    ETNA_CHECK(fields.status());
    return api::control_answer(services, request, *id, body);
}

} // namespace etna::server::openai

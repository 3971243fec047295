#include "server/faces/ollama/request.hpp"

#include "server/api/reasoning_fields.hpp"
#include "server/api/sampling_fields.hpp"
#include "server/api/structured_output.hpp"
#include "server/api/template_arguments.hpp"
#include "server/faces/ollama/messages.hpp"
#include "server/faces/ollama/options.hpp"
#include "server/faces/ollama/prompt_template.hpp"
#include "server/http/http.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server::ollama {
namespace {

/// Reads `format`: "json" or a schema. Older clients send an empty string instead of omitting it.
void read_format(Fields& fields, generate::Request& request) {
    const Json* const format = fields.any("format");
    if (format == nullptr)
        return;
    const auto name = format->is_string() ? fields.text("format") : std::nullopt;
    if (name && name->empty())
        return;
    if (name != "json" && !format->is_object())
        return fields.refuse("format", R"(must be "json" or a JSON schema)");
    request.grammar = {.text = R"({"type": "object"})", .place = "format"};
    if (format->is_object())
        api::read_schema(fields, "format", *request.grammar);
    request.grammar->is_lenient = true; // unenforceable keywords are reported
}

/// Reads `think`: true, false or a level. If absent, the template decides.
std::optional<api::ReasoningEffort> read_thinking(Fields& fields, const api::RequestContext& context,
                                                  chat::Conversation& conversation) {
    using api::ReasoningEffort;
    constexpr std::array levels = {ReasoningEffort::low, ReasoningEffort::medium, ReasoningEffort::high,
                                   ReasoningEffort::max};
    const Json* const think = fields.any("think");
    if (think == nullptr)
        return std::nullopt;
    const auto level = std::ranges::find_if(levels, [&](ReasoningEffort one) {
        return think->is_string() && think->get_ref<const std::string&>() == api::name_of(one);
    });
    if (!think->is_boolean() && level == levels.end()) {
        fields.refuse("think", R"(must be true, false, "low", "medium", "high" or "max")");
        return std::nullopt;
    }
    if (!context.can_think)
        fields.note({"think"});
    conversation.thinking = *think == false ? chat::Thinking::off : chat::Thinking::on;
    return level == levels.end() ? std::nullopt : std::optional(*level);
}

void read_logprobs(Fields& fields, generate::Request& request) {
    const bool is_requested = fields.flag("logprobs").value_or(false);
    const auto top = fields.integer("top_logprobs", 0, generate::logprobs_max);
    if (is_requested)
        request.logprobs = static_cast<uint32_t>(top.value_or(0));
}

void read_rest(Fields& fields) {
    read_keep_alive(fields);
    fields.flag("truncate"); // see may_truncate()
    fields.accept({"model", "stream"});
}

/// Leaves out the messages before `first` but those of the system, and reports them.
void drop_before(std::size_t first, std::vector<chat::Message>& messages, Fields& fields) {
    if (first == 0)
        return;
    const std::vector<chat::Message> all = std::exchange(messages, {});
    std::size_t run = 0; // of dropped messages that end at i
    for (std::size_t i = 0; i < all.size(); ++i) {
        const bool is_dropped = i < first && all[i].role != chat::Role::system;
        run = is_dropped ? run + 1 : 0;
        if (!is_dropped)
            messages.push_back(all[i]);
        const bool ends_run = is_dropped && (i + 1 == first || all[i + 1].role == chat::Role::system);
        if (ends_run && run == 1)
            fields.note_nested(fmt::format("messages[{}]", i));
        if (ends_run && run > 1)
            fields.note_nested(fmt::format("messages[{}-{}]", i + 1 - run, i));
    }
}

/// Sets the thinking level, and makes the answer continue a final assistant message.
void add_arguments(std::optional<api::ReasoningEffort> level, chat::Conversation& conversation) {
    Json arguments = Json::object();
    if (level)
        arguments["chat_template_kwargs"] = {{"reasoning_effort", api::name_of(*level)}};
    const std::vector<chat::Message>& messages = conversation.messages;
    if (!messages.empty() && messages.back().role == chat::Role::assistant &&
        messages.back().tool_calls.empty()) {
        arguments["continue_final_message"] = true;
        arguments["add_generation_prompt"] = false;
    }
    api::add_template_arguments(arguments, conversation);
}

std::vector<api::OfferedTool> read_chat(Fields& fields, const api::RequestContext& context,
                                        std::size_t first_message, generate::Request& request) {
    chat::Conversation conversation;
    conversation.messages = read_messages(fields);
    drop_before(std::min(first_message, conversation.messages.size()), conversation.messages, fields);
    const auto level = read_thinking(fields, context, conversation);
    std::vector<api::Tool> tools = read_tools(fields);
    if (fields.problem())
        return {};
    auto offered = api::offer_tools(std::move(tools), {}, conversation);
    add_arguments(level, conversation);
    api::apply_effort_budget(level, context.limits, request);
    request.prompt = std::move(conversation);
    return offered;
}

/// Refuses non-empty members that `reason` rules out.
void refuse_with(Fields& fields, std::string_view reason, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
        const Json* const given = fields.any(name);
        if (given == nullptr)
            continue;
        const bool is_empty =
            given->is_string() ? given->get_ref<const std::string&>().empty() : given->empty();
        if (!is_empty)
            fields.refuse(name, fmt::format("cannot be combined with `{}`", reason));
    }
}

/// The members that form a prompt.
struct PromptMembers {
    std::string prompt;
    std::string system;
    std::string suffix;
    std::string prompt_template; ///< empty: the model's chat template
    bool is_raw = false;
};

PromptMembers read_prompt_members(Fields& fields) {
    PromptMembers members = {.prompt = fields.text("prompt").value_or(""),
                             .system = fields.text("system").value_or(""),
                             .suffix = fields.text("suffix").value_or(""),
                             .prompt_template = fields.text("template").value_or(""),
                             .is_raw = fields.flag("raw").value_or(false)};
    if (members.is_raw)
        refuse_with(fields, "raw", {"system", "template", "context"});
    return members;
}

/// Renders a prompt through the client's template. Control tokens in all members are parsed, as in a raw
/// prompt. Errors: 503 (no memory for the prompt); others are recorded in `fields`.
ApiStatus read_templated(Fields& fields, const PromptMembers& members, const api::RequestContext& context,
                         generate::Request& request) {
    auto prompt =
        render_template(members.prompt_template,
                        {.system = members.system, .prompt = members.prompt, .suffix = members.suffix},
                        context.reserve_memory);
    if (!prompt && prompt.error().kind == ErrorKind::out_of_memory)
        return no_memory();
    if (!prompt) {
        fields.refuse("template", message_for_client(prompt.error()));
    } else if (prompt->empty()) {
        fields.refuse("template", "renders to an empty prompt");
    } else {
        request.prompt = std::move(*prompt);
    }
    fields.note({"think"});
    return {};
}

/// Reads the prompt verbatim, or as a turn of a conversation if the model has a template. Errors: see
/// read_templated().
ApiStatus read_prompt(Fields& fields, const api::RequestContext& context, generate::Request& request) {
    PromptMembers members = read_prompt_members(fields);
    request.earlier_tokens = api::read_token_list(fields, "context", context.tokenizer->size());
    chat::Conversation conversation;
    const auto level = read_thinking(fields, context, conversation);
    if (!members.prompt_template.empty())
        return read_templated(fields, members, context, request);
    if (!members.suffix.empty() && !context.supports_infill)
        fields.refuse("suffix", "requires a model that was trained for infilling; this one was not");
    if (!members.suffix.empty())
        request.suffix = members.suffix;
    if (members.is_raw || request.suffix || !context.has_template) {
        fields.note({"system", "think"});
        request.prompt = std::move(members.prompt);
        return {};
    }
    if (!members.system.empty())
        conversation.messages.push_back({.role = chat::Role::system, .content = std::move(members.system)});
    conversation.messages.push_back({.role = chat::Role::user, .content = std::move(members.prompt)});
    add_arguments(level, conversation);
    api::apply_effort_budget(level, context.limits, request);
    request.prompt = std::move(conversation);
    return {};
}

/// Reads `shift`, and sets what the request's ContextShift applies to.
void read_scope(Fields& fields, Overflow overflow, generate::Request& request) {
    using Scope = generate::ShiftScope;
    const bool shifts = fields.flag("shift").value_or(true) && generate::can_shift(request);
    if (overflow == Overflow::shorten) {
        request.context_shift->scope = shifts ? Scope::prompt_and_answer : Scope::prompt;
    } else if (!shifts) {
        request.context_shift.reset();
    }
}

} // namespace

ApiResult<RequestHead> read_head(const Json& body, Form form) {
    Fields fields(body);
    RequestHead head;
    fields.require("model");
    head.model = fields.text("model").value_or("");
    if (head.model.empty())
        fields.refuse("model", "is empty");
    head.is_streamed = fields.flag("stream").value_or(true);
    head.keep_alive = read_keep_alive(fields);
    if (form == Form::chat) {
        const Json* const messages = fields.list("messages");
        head.only_loads = messages == nullptr || messages->empty();
    } else {
        head.only_loads = fields.text("prompt").value_or("").empty();
        head.is_raw = fields.flag("raw").value_or(false);
    }
    ETNA_CHECK(fields.status());
    return head;
}

bool may_truncate(const Json& body) {
    return body.value("truncate", Json()) != false;
}

std::vector<std::size_t> possible_starts(const Json& body) {
    const Json& messages = body["messages"];
    std::vector<std::size_t> starts;
    for (std::size_t i = 1; i < messages.size(); ++i) {
        if (to_lower(messages[i]["role"].get<std::string>()) != "tool")
            starts.push_back(i);
    }
    return starts;
}

ApiResult<api::GenerationCall> read_request(const Json& body, Form form, const api::RequestContext& context,
                                            Overflow overflow, std::size_t first_message) {
    constexpr uint32_t default_keep = 4; // Ollama's num_keep
    Fields fields(body);
    api::GenerationCall call = {.prompt_member = form == Form::chat ? "messages" : "prompt"};
    generate::Request request;
    request.context_shift = {.keep_tokens = default_keep, .scope = generate::ShiftScope::answer};
    read_options(fields, context, request);
    read_format(fields, request);
    read_logprobs(fields, request);
    api::read_operator_settings(fields, context.limits, request);
    request.has_lenient_tools = true;
    if (form == Form::chat) {
        call.tools = read_chat(fields, context, first_message, request);
    } else {
        refuse_images(fields);
        ETNA_CHECK(read_prompt(fields, context, request));
    }
    read_rest(fields);
    read_scope(fields, overflow, request);
    ETNA_CHECK(fields.status());
    call.ignored = api::ignored_members(fields);
    call.requests.push_back(std::move(request));
    return call;
}

} // namespace etna::server::ollama

#include "server/api/template_arguments.hpp"

#include "core/jinja/json_value.hpp"
#include "server/base/json.hpp"

#include <string>
#include <utility>

namespace etna::server::api {
std::optional<ReasoningEffort> read_effort(Fields& fields, std::string_view name) {
    const auto effort = fields.hint(name, {effort_names.begin(), effort_names.end()});
    return effort ? std::optional(static_cast<ReasoningEffort>(*effort)) : std::nullopt;
}

void add_template_arguments(const Json& arguments, chat::Conversation& conversation) {
    for (const auto& [name, value] : arguments.items())
        conversation.template_arguments.emplace_back(name, jinja::value_of_json(value));
}

void read_template_arguments(Fields& fields, std::optional<ReasoningEffort> effort,
                             chat::Conversation& conversation) {
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
    if (effort == ReasoningEffort::none) {
        conversation.thinking = chat::Thinking::off;
    } else if (effort >= ReasoningEffort::low) { // below it, thinking is left to the model's default
        conversation.thinking = chat::Thinking::on;
    }
    if (effort)
        kwargs.emplace("reasoning_effort", name_of(*effort));
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
    add_template_arguments(arguments, conversation);
    if (fields.flag("parse_special").value_or(false))
        conversation.spelled_tokens = chat::SpelledTokens::all;
}

void check_continuation(Fields& fields, const chat::Conversation& conversation) {
    if (!fields.flag("continue_final_message").value_or(false) || conversation.messages.empty())
        return;
    if (conversation.messages.back().role != chat::Role::assistant) {
        fields.refuse("continue_final_message",
                      "requires that the last message has the role assistant; its text is continued");
    }
    if (conversation.required_tool) {
        fields.refuse(
            "tool_choice",
            "cannot require a call together with `continue_final_message`: the answer has already started");
    }
}

} // namespace etna::server::api

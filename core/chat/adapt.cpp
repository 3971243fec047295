#include "core/chat/adapt.hpp"

#include "core/chat/fallbacks.hpp"
#include "core/chat/request.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::chat {
namespace {

bool has_tools(const Json& request) {
    const auto tools = request.find("tools");
    return tools != request.end() && tools->is_array() && !tools->empty();
}

bool has_calls(const Json& messages) {
    return std::any_of(messages.begin(), messages.end(), [](const Json& message) {
        return has_role(message, "tool") || message.contains("tool_calls");
    });
}

bool has_system(const Json& messages) {
    return std::any_of(messages.begin(), messages.end(),
                       [](const Json& message) { return has_role(message, "system"); });
}

/// Calls `visit(function)` for each call of the message that has one.
template <class Visit>
void for_each_function(Json& message, const Visit& visit) {
    const auto calls = message.find("tool_calls");
    if (calls == message.end() || !calls->is_array())
        return;
    for (Json& call : *calls) {
        if (call.is_object() && call.contains("function") && call["function"].is_object())
            visit(call["function"]);
    }
}

void convert_arguments(Json& function, ArgumentsForm form) {
    const auto arguments = function.find("arguments");
    if (arguments == function.end())
        return;
    if (form == ArgumentsForm::object && arguments->is_string()) {
        Json parsed = parse_json(arguments->get_ref<const std::string&>());
        if (parsed.is_object())
            *arguments = std::move(parsed);
    } else if (form == ArgumentsForm::text && !arguments->is_string()) {
        *arguments = dump_json(*arguments);
    }
}

void rename_reasoning(Json& message, const std::string& key) {
    for (const char* other : reasoning_keys) {
        const auto found = message.find(other);
        if (other == key || found == message.end() || !found->is_string() || message.contains(key))
            continue;
        Json reasoning = std::move(*found);
        message.erase(other);
        message[key] = std::move(reasoning);
    }
}

/// Converts content to a string and the role `developer` to `system`; removes `tools` and `documents` that
/// are null. Error: invalid_argument (a content part that is not text).
Status normalise(Json& request) {
    for (const char* key : {"tools", "documents"}) {
        if (const auto member = request.find(key); member != request.end() && member->is_null())
            request.erase(key);
    }
    for (Json& message : request["messages"]) {
        ETNA_TRY(std::string text, content_text(message));
        message["content"] = std::move(text);
        if (has_role(message, "developer"))
            message["role"] = "system";
    }
    return {};
}

/// Converts content, arguments and reasoning to the forms that the template expects.
void convert_forms(const TemplateCapabilities& capabilities, Json& messages) {
    for (Json& message : messages) {
        if (capabilities.content == ContentForm::parts) {
            Json part = Json::object({{"type", "text"}, {"text", message["content"]}});
            message["content"] = Json::array();
            message["content"].push_back(std::move(part));
        }
        for_each_function(message,
                          [&](Json& function) { convert_arguments(function, capabilities.arguments); });
        rename_reasoning(message, capabilities.reasoning_key);
    }
}

/// Returns a sentinel that occurs in no conversation and in no other sentinel.
std::string role_sentinel(std::size_t number) {
    return fmt::format("hawkbitlock{}end", number);
}

/// Whether the role is not one of the four that every template is expected to support.
bool has_other_role(const Json& message) {
    constexpr std::array<std::string_view, 4> standard = {"system", "user", "assistant", "tool"};
    return std::none_of(standard.begin(), standard.end(),
                        [&](std::string_view role) { return has_role(message, role); });
}

/// Replaces the content of the first message of each other role by a sentinel. Returns these roles in
/// sentinel order.
std::vector<std::string> replace_other_roles(Json& messages) {
    std::vector<std::string> roles;
    std::set<std::string> seen;
    for (Json& message : messages) {
        const auto& role = message["role"].get_ref<const std::string&>();
        if (!has_other_role(message) || !seen.insert(role).second)
            continue;
        message["content"] = role_sentinel(roles.size());
        roles.push_back(role);
    }
    return roles;
}

/// Renders one conversation; state of render_adapted().
class Adaptation {
public:
    Adaptation(const ChatTemplate& chat_template, Json request, int64_t now_unix_s)
        : template_(&chat_template), request_(std::move(request)), now_unix_s_(now_unix_s) {}

    Result<AdaptedPrompt> run() {
        const TemplateCapabilities& capabilities = template_->capabilities();
        ETNA_CHECK(normalise(request_));
        const bool describes_tools = has_tools(request_) && !capabilities.renders_tools;
        if (describes_tools || (has_calls(messages()) && capabilities.arguments == ArgumentsForm::none)) {
            calls_to_text(messages());
            prompt_.notes.emplace_back(
                "the chat template does not support tools: calls and results are converted to text");
        }
        if (describes_tools) {
            describe_tools(request_);
            prompt_.tools_in_text = true;
        }
        if (!capabilities.renders_system && has_system(messages())) {
            merge_system_messages(request_);
            move_system_into_user(messages());
            prompt_.notes.emplace_back(
                "the chat template does not support system messages: the text is moved "
                "into the first user message");
        }
        ETNA_TRY(prompt_.text, render_with_fallbacks());
        ETNA_CHECK(check_roles());
        if (continues_final_message(request_))
            prompt_.prefilled_bytes = prefilled_bytes();
        return std::move(prompt_);
    }

private:
    Json& messages() { return request_["messages"]; }

    [[nodiscard]] Result<std::string> rendered() const { return rendered(request_); }

    [[nodiscard]] Result<std::string> rendered(Json request) const {
        convert_forms(template_->capabilities(), request["messages"]);
        return template_->render(dump_json(request), now_unix_s_);
    }

    /// Renders the request unchanged, else with the first single fallback that helps, else with all of them.
    Result<std::string> render_with_fallbacks() {
        auto text = rendered();
        if (text)
            return text;
        const Error refusal = text.error();
        const Json refused = request_;
        for (const TemplateFallback& fallback : template_fallbacks()) {
            request_ = refused;
            if (!fallback.apply(request_))
                continue;
            if (text = rendered(); text) {
                prompt_.notes.emplace_back(fallback.note);
                return text;
            }
        }
        request_ = refused;
        for (const TemplateFallback& fallback : template_fallbacks()) {
            if (fallback.apply(request_))
                prompt_.notes.emplace_back(fallback.note);
        }
        text = rendered();
        return text ? text : refusal;
    }

    /// Fails if the template drops messages of a role that it does not know, as many do.
    [[nodiscard]] Status check_roles() const {
        const Json& messages = request_["messages"];
        if (std::none_of(messages.begin(), messages.end(), has_other_role))
            return {};
        Json probe = request_;
        const std::vector<std::string> roles = replace_other_roles(probe["messages"]);
        ETNA_TRY(const std::string text, rendered(std::move(probe)));
        for (std::size_t i = 0; i < roles.size(); ++i) {
            if (text.find(role_sentinel(i)) == std::string::npos) {
                return invalid_argument(
                    fmt::format("the chat template does not render messages of the role `{}`", roles[i]),
                    "use the roles system, user, assistant and tool");
            }
        }
        return {};
    }

    /// Returns the number of bytes of the prompt after its common prefix with a prompt that only opens the
    /// answer's turn; 0 if that prompt cannot be rendered. If they diverge inside a <...> marker, all of
    /// the marker counts as part of the answer.
    [[nodiscard]] std::size_t prefilled_bytes() const {
        Json before = request_;
        before["messages"].erase(before["messages"].size() - 1);
        before["continue_final_message"] = false;
        before["add_generation_prompt"] = true;
        const auto opened = rendered(std::move(before));
        if (!opened)
            return 0;
        const auto divergence =
            std::mismatch(opened->begin(), opened->end(), prompt_.text.begin(), prompt_.text.end()).first;
        std::string_view common(opened->data(), static_cast<std::size_t>(divergence - opened->begin()));
        const std::size_t marker = common.rfind('<');
        if (common.size() < opened->size() && marker != std::string_view::npos &&
            common.find('>', marker) == std::string_view::npos)
            common = common.substr(0, marker);
        return prompt_.text.size() - common.size();
    }

    const ChatTemplate* template_; ///< borrowed
    Json request_;
    int64_t now_unix_s_;
    AdaptedPrompt prompt_;
};

} // namespace

Result<AdaptedPrompt> render_adapted(const ChatTemplate& chat_template, std::string_view request_json,
                                     int64_t now_unix_s) {
    ETNA_TRY(Json request, parse_request(request_json));
    return Adaptation(chat_template, std::move(request), now_unix_s).run();
}

} // namespace etna::chat

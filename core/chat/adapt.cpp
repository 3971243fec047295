#include "core/chat/adapt.hpp"

#include "core/chat/fallbacks.hpp"
#include "core/chat/turns.hpp"

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

using jinja::Type;

bool has_calls(const std::vector<Turn>& messages) {
    return std::any_of(messages.begin(), messages.end(),
                       [](const Turn& message) { return message.role == "tool" || !message.calls.empty(); });
}

bool has_system(const std::vector<Turn>& messages) {
    return std::any_of(messages.begin(), messages.end(),
                       [](const Turn& message) { return message.role == "system"; });
}

bool continues_final_message(const NamedValues& arguments) {
    return std::any_of(arguments.begin(), arguments.end(), [](const auto& argument) {
        return argument.first == "continue_final_message" && argument.second.is(Type::boolean) &&
               argument.second.boolean();
    });
}

/// Returns a sentinel that occurs in no conversation and in no other sentinel.
std::string role_sentinel(std::size_t number) {
    return fmt::format("hawkbitlock{}end", number);
}

/// Whether the role is not one of the four that every template is expected to support.
bool has_other_role(const Turn& message) {
    constexpr std::array<std::string_view, 4> standard = {"system", "user", "assistant", "tool"};
    return std::find(standard.begin(), standard.end(), message.role) == standard.end();
}

/// Replaces the content of the first message of each other role by a sentinel. Returns these roles in
/// sentinel order.
std::vector<std::string> replace_other_roles(std::vector<Turn>& messages) {
    std::vector<std::string> roles;
    std::set<std::string> seen;
    for (Turn& message : messages) {
        if (!has_other_role(message) || !seen.insert(message.role).second)
            continue;
        message.content = role_sentinel(roles.size());
        roles.push_back(message.role);
    }
    return roles;
}

/// Renders one conversation; state of render_adapted().
class Adaptation {
public:
    Adaptation(const ChatTemplate& chat_template, const Conversation& conversation, int64_t now_unix_s)
        : template_(&chat_template), turns_(turns_of(conversation, chat_template.capabilities().arguments)),
          spelled_(conversation.spelled_tokens), now_unix_s_(now_unix_s) {}

    Result<AdaptedPrompt> run() {
        const TemplateCapabilities& capabilities = template_->capabilities();
        const bool describes_tools = !turns_.tools.empty() && !capabilities.renders_tools;
        if (describes_tools ||
            (has_calls(turns_.messages) && capabilities.arguments == ArgumentsForm::none)) {
            calls_to_text(turns_.messages);
            prompt_.notes.emplace_back(
                "the chat template does not support tools: calls and results are converted to text");
        }
        if (describes_tools) {
            describe_tools(turns_);
            prompt_.tools_in_text = true;
        }
        if (!capabilities.renders_system && has_system(turns_.messages)) {
            merge_system_messages(turns_);
            move_system_into_user(turns_.messages);
            prompt_.notes.emplace_back(
                "the chat template does not support system messages: the text is moved "
                "into the first user message");
        }
        ETNA_TRY(RenderedPrompt rendered, render_with_fallbacks());
        prompt_.text = std::move(rendered.text);
        prompt_.barriers = std::move(rendered.barriers);
        ETNA_CHECK(check_roles());
        if (continues_final_message(turns_.template_arguments))
            prompt_.prefilled_bytes = prefilled_bytes();
        return std::move(prompt_);
    }

private:
    [[nodiscard]] Result<RenderedPrompt> rendered() const { return rendered(turns_); }

    [[nodiscard]] Result<RenderedPrompt> rendered(const Turns& turns) const {
        return template_->render(request_value(turns, template_->capabilities()), now_unix_s_, spelled_);
    }

    /// Renders the conversation unchanged, else with the first single fallback that helps, else with all of
    /// them.
    Result<RenderedPrompt> render_with_fallbacks() {
        auto prompt = rendered();
        if (prompt)
            return prompt;
        const Error refusal = prompt.error();
        const Turns refused = turns_;
        for (const TemplateFallback& fallback : template_fallbacks()) {
            turns_ = refused;
            if (!fallback.apply(turns_))
                continue;
            if (prompt = rendered(); prompt) {
                prompt_.notes.emplace_back(fallback.note);
                return prompt;
            }
        }
        turns_ = refused;
        for (const TemplateFallback& fallback : template_fallbacks()) {
            if (fallback.apply(turns_))
                prompt_.notes.emplace_back(fallback.note);
        }
        prompt = rendered();
        return prompt ? prompt : refusal;
    }

    /// Fails if the template drops messages of a role that it does not know, as many do.
    [[nodiscard]] Status check_roles() const {
        if (std::none_of(turns_.messages.begin(), turns_.messages.end(), has_other_role))
            return {};
        Turns probe = turns_;
        const std::vector<std::string> roles = replace_other_roles(probe.messages);
        ETNA_TRY(const RenderedPrompt prompt, rendered(probe));
        for (std::size_t i = 0; i < roles.size(); ++i) {
            if (prompt.text.find(role_sentinel(i)) == std::string::npos) {
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
        Turns before = turns_;
        before.messages.pop_back();
        set_argument(before.template_arguments, "continue_final_message", false);
        set_argument(before.template_arguments, "add_generation_prompt", true);
        const auto opened = rendered(before);
        if (!opened)
            return 0;
        const auto divergence =
            std::mismatch(opened->text.begin(), opened->text.end(), prompt_.text.begin(), prompt_.text.end())
                .first;
        std::string_view common(opened->text.data(),
                                static_cast<std::size_t>(divergence - opened->text.begin()));
        const std::size_t marker = common.rfind('<');
        if (common.size() < opened->text.size() && marker != std::string_view::npos &&
            common.find('>', marker) == std::string_view::npos)
            common = common.substr(0, marker);
        return prompt_.text.size() - common.size();
    }

    const ChatTemplate* template_; ///< borrowed
    Turns turns_;
    SpelledTokens spelled_;
    int64_t now_unix_s_;
    AdaptedPrompt prompt_;
};

} // namespace

Result<AdaptedPrompt> render_adapted(const ChatTemplate& chat_template, const Conversation& conversation,
                                     int64_t now_unix_s) {
    return Adaptation(chat_template, conversation, now_unix_s).run();
}

} // namespace etna::chat

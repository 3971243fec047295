#include "core/chat/adapt.hpp"

#include "core/chat/adaptations_private.hpp"
#include "core/chat/continuation_private.hpp"

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

/// A change to try if the template refuses the conversation, with its note.
struct Remedy {
    bool (*apply)(Json& request);
    const char* note;
};
constexpr std::array remedies = {
    Remedy{&join_neighbours, "the chat template wants turns to alternate: neighbours of one role are joined"},
    Remedy{&complete_turns,
           "the chat template wants every call and every message answered: what is missing is told in words"},
    Remedy{&shorten_ids,
           "the chat template wants ids of nine letters and digits: those of calls are replaced"},
    Remedy{&split_calls,
           "the chat template wants one call at a time: parallel ones are put one after another"},
    Remedy{&drop_reasoning, "the chat template wants no reasoning beside content and calls: it is left out"},
    Remedy{&complete_tools, "the chat template wants every tool described: empty descriptions are added"},
    Remedy{&gather_systems, "the chat template wants one system message: all of them stand in the first"},
};

/// Returns a sentinel that occurs in no conversation and in no other sentinel.
std::string role_mark(std::size_t number) {
    return fmt::format("hawkbitlock{}end", number);
}

/// Whether the role is not one of the four that every template is expected to support.
bool has_other_role(const Json& message) {
    constexpr std::array<std::string_view, 4> usual = {"system", "user", "assistant", "tool"};
    return std::none_of(usual.begin(), usual.end(),
                        [&](std::string_view role) { return has_role(message, role); });
}

/// Replaces the content of the first message of each other role by a sentinel. Returns these roles in
/// sentinel order.
std::vector<std::string> mark_other_roles(Json& messages) {
    std::vector<std::string> roles;
    std::set<std::string> seen;
    for (Json& message : messages) {
        const auto& role = message["role"].get_ref<const std::string&>();
        if (!has_other_role(message) || !seen.insert(role).second)
            continue;
        message["content"] = role_mark(roles.size());
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
        const TemplateHabits& habits = template_->habits();
        ETNA_CHECK(normalise(request_));
        const bool tells_tools = has_tools(request_) && !habits.writes_tools;
        if (tells_tools || (has_calls(messages()) && habits.arguments == ArgumentsForm::none)) {
            tell_calls(messages());
            prompt_.notes.emplace_back(
                "the chat template knows no tools: calls and results are told in words");
        }
        if (tells_tools) {
            tell_tools(request_);
            prompt_.tools_in_text = true;
        }
        if (!habits.writes_system && has_system(messages())) {
            gather_systems(request_);
            merge_system(messages());
            prompt_.notes.emplace_back("the chat template knows no system message: its text stands before "
                                       "the user's first message");
        }
        ETNA_TRY(prompt_.text, render_somehow());
        ETNA_CHECK(check_roles());
        if (continues_final_message(request_))
            prompt_.begun_bytes = begun_bytes();
        return std::move(prompt_);
    }

private:
    Json& messages() { return request_["messages"]; }

    [[nodiscard]] Result<std::string> rendered() const { return rendered(request_); }

    [[nodiscard]] Result<std::string> rendered(Json request) const {
        change_forms(template_->habits(), request["messages"]);
        return template_->render(text_of(request), now_unix_s_);
    }

    /// Renders the request unchanged, else with the first single remedy that helps, else with all of them.
    Result<std::string> render_somehow() {
        auto text = rendered();
        if (text)
            return text;
        const Error refusal = text.error();
        const Json refused = request_;
        for (const Remedy& remedy : remedies) {
            request_ = refused;
            if (!remedy.apply(request_))
                continue;
            if (text = rendered(); text) {
                prompt_.notes.emplace_back(remedy.note);
                return text;
            }
        }
        request_ = refused;
        for (const Remedy& remedy : remedies) {
            if (remedy.apply(request_))
                prompt_.notes.emplace_back(remedy.note);
        }
        text = rendered();
        return text ? text : refusal;
    }

    /// Fails if the template drops messages of a role that it does not know, as many do.
    [[nodiscard]] Status check_roles() const {
        const Json& given = request_["messages"];
        if (std::none_of(given.begin(), given.end(), has_other_role))
            return {};
        Json probe = request_;
        const std::vector<std::string> roles = mark_other_roles(probe["messages"]);
        ETNA_TRY(const std::string text, rendered(std::move(probe)));
        for (std::size_t i = 0; i < roles.size(); ++i) {
            if (text.find(role_mark(i)) == std::string::npos) {
                return Error{ErrorKind::invalid_argument,
                             fmt::format("the chat template writes no messages of the role `{}`", roles[i]),
                             "roles that all templates know are system, user, assistant and tool"};
            }
        }
        return {};
    }

    /// Returns the number of bytes of the prompt after its common prefix with a prompt that only opens the
    /// answer's turn; 0 if that prompt cannot be rendered. If they diverge inside a <...> marker, the whole
    /// marker counts as part of the answer.
    [[nodiscard]] std::size_t begun_bytes() const {
        Json before = request_;
        before["messages"].erase(before["messages"].size() - 1);
        before["continue_final_message"] = false;
        before["add_generation_prompt"] = true;
        const auto opened = rendered(std::move(before));
        if (!opened)
            return 0;
        const auto parting =
            std::mismatch(opened->begin(), opened->end(), prompt_.text.begin(), prompt_.text.end()).first;
        std::string_view common(opened->data(), static_cast<std::size_t>(parting - opened->begin()));
        const std::size_t mark = common.rfind('<');
        if (common.size() < opened->size() && mark != std::string_view::npos &&
            common.find('>', mark) == std::string_view::npos)
            common = common.substr(0, mark);
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

#include "core/chat/chat_template.hpp"

#include "core/chat/habits.hpp"
#include "core/chat/jinja/from_json.hpp"
#include "core/chat/request_private.hpp"

#include <array>

namespace etna::chat {
namespace {

using Json = nlohmann::ordered_json;

/// Members of a request that templates read as variables of the same name.
constexpr std::array variables = {"messages",        "tools",    "documents",        "add_generation_prompt",
                                  "enable_thinking", "thinking", "reasoning_effort", "continue_final_message",
                                  "bos_token",       "eos_token"};

Status add(jinja::Input& input, const std::string& name, const Json& value) {
    ETNA_TRY(auto converted, jinja::from_json(text_of(value)));
    input.variables.emplace_back(name, std::move(converted));
    return {};
}

} // namespace

Result<ChatTemplate> ChatTemplate::create(std::string_view text, SpecialText special) {
    ETNA_TRY(auto parsed, jinja::Template::create(text));
    ChatTemplate chat_template(std::move(parsed), text, std::move(special));
    chat_template.habits_ = habits_of(chat_template);
    return chat_template;
}

Result<std::string> ChatTemplate::render(std::string_view request_json, int64_t now_unix_s) const {
    ETNA_TRY(const Json request, parse_request(request_json));
    // Of two variables with one name the later counts.
    jinja::Input input = {.variables = {{"add_generation_prompt", jinja::Value(true)},
                                        {"bos_token", jinja::Value(special_.bos)},
                                        {"eos_token", jinja::Value(special_.eos)}},
                          .now_unix_s = now_unix_s};
    for (const char* name : variables) {
        if (const auto member = request.find(name); member != request.end())
            ETNA_CHECK(add(input, name, *member));
    }
    if (const auto more = request.find("chat_template_kwargs"); more != request.end() && !more->is_null()) {
        if (!more->is_object())
            return Error{ErrorKind::invalid_argument, "`chat_template_kwargs` is no object"};
        for (const auto& [name, value] : more->items())
            ETNA_CHECK(add(input, name, value));
    }
    return template_.render(input);
}

} // namespace etna::chat

#include "core/chat/chat_template.hpp"

#include "core/chat/continuation_private.hpp"
#include "core/chat/habits.hpp"
#include "core/chat/request_private.hpp"
#include "core/jinja/json.hpp"
#include "core/jinja/value.hpp"

#include <array>
#include <utility>

namespace etna::chat {
namespace {

/// Request members that a template sees as variables of the same name.
constexpr std::array variables = {"messages",        "tools",    "documents",        "add_generation_prompt",
                                  "enable_thinking", "thinking", "reasoning_effort", "continue_final_message",
                                  "bos_token",       "eos_token"};

} // namespace

Result<ChatTemplate> ChatTemplate::create(std::string_view text, SpecialText special) {
    ETNA_TRY(auto parsed, jinja::Template::create(text));
    ChatTemplate chat_template(std::move(parsed), text, std::move(special));
    chat_template.habits_ = habits_of(chat_template);
    return chat_template;
}

Result<std::string> ChatTemplate::render(std::string_view request_json, int64_t now_unix_s) const {
    ETNA_TRY(auto parsed, parse_request(request_json));
    if (!continues_final_message(parsed))
        return render_whole(request_json, now_unix_s);
    ETNA_TRY(const std::string mark, mark_final_message(parsed));
    ETNA_TRY(std::string prompt, render_whole(text_of(parsed), now_unix_s));
    return cut_at_mark(std::move(prompt), mark);
}

/// Renders without the cut for `continue_final_message`.
Result<std::string> ChatTemplate::render_whole(std::string_view request_json, int64_t now_unix_s) const {
    // Parsed a second time, because nlohmann::json rounds integers of more than 64 bits.
    ETNA_TRY(const auto request, jinja::from_json(request_json, request_nesting_max));
    // If a name occurs twice, the later variable wins.
    jinja::Input input = {.variables = {{"add_generation_prompt", jinja::Value(true)},
                                        {"bos_token", jinja::Value(special_.bos)},
                                        {"eos_token", jinja::Value(special_.eos)}},
                          .now_unix_s = now_unix_s};
    for (const char* name : variables) {
        if (const jinja::Value* member = request.dict()->find(std::string_view(name)))
            input.variables.emplace_back(name, *member);
    }
    const jinja::Value* more = request.dict()->find(std::string_view("chat_template_kwargs"));
    if (more != nullptr && !more->is(jinja::Type::none)) {
        if (!more->is(jinja::Type::dict))
            return Error{ErrorKind::invalid_argument, "`chat_template_kwargs` is no object"};
        for (const auto& [name, value] : more->dict()->entries)
            input.variables.emplace_back(name.string(), value);
    }
    return template_.render(input);
}

} // namespace etna::chat

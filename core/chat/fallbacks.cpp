#include "core/chat/fallbacks.hpp"

#include "core/chat/request.hpp"
#include "core/jinja/json.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace etna::chat {
namespace {

using jinja::Type;
using jinja::Value;

void append(std::string& text, const std::string& more) {
    if (!text.empty() && !more.empty())
        text += "\n\n";
    text += more;
}

/// FNV-1a in base 36: equal texts give equal ids.
std::string short_id(const std::string& id) {
    constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyz";
    constexpr std::size_t length = 9;
    uint64_t hash = 0xcbf29ce484222325;
    for (const char byte : id)
        hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
    std::string text;
    for (std::size_t i = 0; i < length; ++i, hash /= digits.size())
        text += digits[hash % digits.size()];
    return text;
}

bool is_short_id(const std::string& id) {
    return id.size() == 9 && std::all_of(id.begin(), id.end(), [](unsigned char letter) {
               return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') ||
                      (letter >= 'A' && letter <= 'Z');
           });
}

bool shorten(std::string& id) {
    if (is_short_id(id))
        return false;
    id = short_id(id);
    return true;
}

/// Returns whether the text is a JSON object.
bool is_object(const std::string& text) {
    const auto value = jinja::from_json(text, request_nesting_max);
    return value && value->is(Type::dict);
}

bool answers(const Turn& result, const TurnCall& call) {
    return !call.id.empty() && result.tool_call_id == call.id;
}

/// Moves the results of the call from `results` to `messages`.
void move_results(std::vector<Turn>& results, const TurnCall& call, std::vector<Turn>& messages) {
    const auto others = std::stable_partition(results.begin(), results.end(),
                                              [&](const Turn& result) { return answers(result, call); });
    std::move(results.begin(), others, std::back_inserter(messages));
    results.erase(results.begin(), others);
}

/// Appends one message per call, each followed by its result; only the first has the content and the
/// reasoning.
void append_single_calls(const Turn& message, std::vector<Turn> results, std::vector<Turn>& messages) {
    for (std::size_t i = 0; i < message.calls.size(); ++i) {
        Turn single = message;
        single.calls = {message.calls[i]};
        if (i > 0) {
            single.content.clear();
            single.reasoning.clear();
        }
        messages.push_back(std::move(single));
        move_results(results, message.calls[i], messages);
    }
    std::move(results.begin(), results.end(), std::back_inserter(messages)); // of unknown calls
}

constexpr const char* no_result = "(not run)";
constexpr const char* no_answer = "(no answer)";
constexpr const char* no_message = "(no message)";

/// Returns the tool messages that follow message `index`.
std::span<const Turn> results_after(const std::vector<Turn>& messages, std::size_t index) {
    std::size_t end = index + 1;
    while (end < messages.size() && messages[end].role == "tool")
        ++end;
    return std::span(messages).subspan(index + 1, end - index - 1);
}

/// Appends a placeholder for each call of `message` without a result in `results`, the messages after it.
bool append_missing_results(const Turn& message, std::span<const Turn> results, std::vector<Turn>& messages) {
    const std::size_t before = messages.size();
    for (const TurnCall& call : message.calls) {
        const bool is_answered = std::any_of(results.begin(), results.end(),
                                             [&](const Turn& result) { return answers(result, call); });
        const bool has_all_results = results.size() + messages.size() - before >= message.calls.size();
        if (is_answered || has_all_results)
            continue;
        messages.push_back(
            {.role = "tool", .content = no_result, .tool_call_id = call.id, .tool_name = call.name});
    }
    return messages.size() > before;
}

/// Merges adjacent messages of one role, separated by a blank line; not tool messages or messages with calls.
bool merge_adjacent(Turns& turns) {
    std::vector<Turn> merged;
    for (Turn& message : turns.messages) {
        const bool can_merge = !merged.empty() && merged.back().role == message.role &&
                               message.role != "tool" && merged.back().calls.empty() && message.calls.empty();
        if (can_merge) {
            append(merged.back().content, message.content);
            append(merged.back().reasoning, message.reasoning);
        } else {
            merged.push_back(std::move(message));
        }
    }
    const bool has_changed = merged.size() != turns.messages.size();
    turns.messages = std::move(merged);
    return has_changed;
}

/// Replaces call ids by nine letters and digits, as Mistral templates require.
bool shorten_ids(Turns& turns) {
    bool has_changed = false;
    for (Turn& message : turns.messages) {
        if (!message.tool_call_id.empty())
            has_changed = shorten(message.tool_call_id) || has_changed;
        for (TurnCall& call : message.calls)
            has_changed = shorten(call.id) || has_changed;
    }
    return has_changed;
}

/// Splits a message with several calls into one message per call, each followed by its result.
bool split_calls(Turns& turns) {
    std::vector<Turn> messages;
    const std::vector<Turn>& old = turns.messages;
    for (std::size_t i = 0; i < old.size(); ++i) {
        if (old[i].calls.size() < 2) {
            messages.push_back(old[i]);
            continue;
        }
        const std::span<const Turn> results = results_after(old, i);
        append_single_calls(old[i], {results.begin(), results.end()}, messages);
        i += results.size();
    }
    const bool has_changed =
        std::any_of(old.begin(), old.end(), [](const Turn& message) { return message.calls.size() > 1; });
    turns.messages = std::move(messages);
    return has_changed;
}

/// Adds a placeholder result to each call without one, placeholder content to an assistant message that has
/// neither content nor calls, and a placeholder answer between tool results and the next user message.
bool complete_turns(Turns& turns) {
    std::vector<Turn> messages;
    bool has_changed = false;
    const std::vector<Turn>& old = turns.messages;
    for (std::size_t i = 0; i < old.size(); ++i) {
        if (old[i].role == "user" && !messages.empty() && messages.back().role == "tool") {
            messages.push_back({.role = "assistant", .content = no_answer});
            has_changed = true;
        }
        messages.push_back(old[i]);
        if (old[i].role != "assistant")
            continue;
        if (old[i].calls.empty()) {
            if (old[i].content.empty()) {
                messages.back().content = no_answer;
                has_changed = true;
            }
            continue;
        }
        const std::span<const Turn> results = results_after(old, i);
        messages.insert(messages.end(), results.begin(), results.end());
        has_changed = append_missing_results(old[i], results, messages) || has_changed;
        i += results.size();
    }
    turns.messages = std::move(messages);
    return has_changed;
}

/// Removes the reasoning of assistant messages that have both calls and content.
bool drop_reasoning(Turns& turns) {
    bool has_changed = false;
    for (Turn& message : turns.messages) {
        if (message.calls.empty() || message.content.empty() || message.reasoning.empty())
            continue;
        message.reasoning.clear();
        has_changed = true;
    }
    return has_changed;
}

/// Adds an empty description to each property without one. Returns whether it changed anything.
bool complete_properties(Value& parameters) {
    const Value* const properties = find_member(parameters, "properties");
    if (properties == nullptr || !properties->is(Type::dict))
        return false;
    bool has_changed = false;
    NamedValues described;
    for (const auto& [name, property] : properties->dict()->entries) {
        const bool lacks_it = property.is(Type::dict) && find_member(property, "description") == nullptr;
        described.emplace_back(name.string(), lacks_it ? with_member(property, "description", "") : property);
        has_changed = has_changed || lacks_it;
    }
    parameters = with_member(parameters, "properties", Value::dict(std::move(described)));
    return has_changed;
}

/// Adds an empty description and parameters to the tool, if missing. Returns whether it changed anything.
bool complete_tool(Value& tool) {
    const Value* const given = find_member(tool, "function");
    if (given == nullptr || !given->is(Type::dict))
        return false;
    const bool is_described = find_member(*given, "description") != nullptr;
    const Value function = is_described ? *given : with_member(*given, "description", "");
    const Value* const schema = find_member(function, "parameters");
    Value parameters =
        schema == nullptr ? Value::dict({{"type", "object"}, {"properties", Value::dict({})}}) : *schema;
    const bool has_changed = complete_properties(parameters) || schema == nullptr || !is_described;
    tool = with_member(tool, "function", with_member(function, "parameters", std::move(parameters)));
    return has_changed;
}

/// Adds empty descriptions and parameters to tools, and descriptions to their properties, if missing.
bool complete_tools(Turns& turns) {
    bool has_changed = false;
    for (Value& tool : turns.tools)
        has_changed = complete_tool(tool) || has_changed;
    return has_changed;
}

/// Returns the tool message that follows the system messages from `index` on; null if there is none.
Turn* result_behind(std::vector<Turn>& messages, std::size_t index) {
    while (index < messages.size() && messages[index].role == "system")
        ++index;
    return index < messages.size() && messages[index].role == "tool" ? &messages[index] : nullptr;
}

/// Moves each system message after the leading ones into the user or tool turn before it. After an assistant
/// message it goes into the turn behind: the result of a call, or a user turn.
bool fold_late_systems(Turns& turns) {
    std::vector<Turn> messages;
    bool has_changed = false;
    bool has_begun = false;  // a message other than the leading system messages has been seen
    bool opens_user = false; // the last of `messages` is a user turn that a system message has opened
    std::vector<Turn>& old = turns.messages;
    for (std::size_t i = 0; i < old.size(); ++i) {
        has_begun = has_begun || old[i].role != "system";
        if (!has_begun || old[i].role != "system") {
            if (opens_user && old[i].role == "user")
                append(messages.back().content, old[i].content);
            else
                messages.push_back(old[i]);
            opens_user = false;
            continue;
        }
        has_changed = true;
        Turn* const result = messages.back().calls.empty() ? nullptr : result_behind(old, i);
        if (messages.back().role == "user" || messages.back().role == "tool") {
            append(messages.back().content, old[i].content);
        } else if (result != nullptr) {
            append(result->content, old[i].content);
        } else {
            messages.push_back({.role = "user", .content = old[i].content});
            opens_user = true;
        }
    }
    turns.messages = std::move(messages);
    return has_changed;
}

/// Merges the system messages at the start into one.
bool merge_leading_systems(Turns& turns) {
    std::vector<Turn>& messages = turns.messages;
    std::size_t leading = 0;
    while (leading < messages.size() && messages[leading].role == "system")
        ++leading;
    for (std::size_t i = 1; i < leading; ++i)
        append(messages.front().content, messages[i].content);
    if (leading < 2)
        return false;
    messages.erase(messages.begin() + 1, messages.begin() + static_cast<std::ptrdiff_t>(leading));
    return true;
}

/// Prepends the first message, if it is a system message, to the first user message. An assistant message
/// that comes before that gets a user turn of its own.
bool move_system_into_user(Turns& turns) {
    std::vector<Turn>& messages = turns.messages;
    if (messages.empty() || messages.front().role != "system")
        return false;
    std::string system = std::move(messages.front().content);
    messages.erase(messages.begin());
    if (messages.empty() || messages.front().role != "user") {
        messages.insert(messages.begin(), Turn{.role = "user", .content = std::move(system)});
        return true;
    }
    append(system, messages.front().content);
    messages.front().content = std::move(system);
    return true;
}

/// Puts a placeholder for a user's message before a conversation that begins otherwise.
bool begin_with_user(Turns& turns) {
    const auto first =
        std::ranges::find_if(turns.messages, [](const Turn& message) { return message.role != "system"; });
    if (first == turns.messages.end() || first->role == "user")
        return false;
    turns.messages.insert(first, {.role = "user", .content = no_message});
    return true;
}

/// Splits a message with text and calls into one of each.
bool split_text_from_calls(Turns& turns) {
    std::vector<Turn> messages;
    for (Turn& message : turns.messages) {
        if (!message.content.empty() && !message.calls.empty()) {
            messages.push_back({.role = message.role, .content = std::move(message.content)});
            message.content.clear();
        }
        messages.push_back(std::move(message));
    }
    const bool has_changed = messages.size() != turns.messages.size();
    turns.messages = std::move(messages);
    return has_changed;
}

/// Passes arguments that are not an object, which a model may write, as an object with the member
/// `arguments`.
bool wrap_arguments(Turns& turns) {
    bool has_changed = false;
    for (Turn& message : turns.messages) {
        for (TurnCall& call : message.calls) {
            const bool is_object_text = call.arguments.is(Type::string) &&
                                        turns.arguments == ArgumentsForm::text &&
                                        is_object(call.arguments.string());
            if (call.arguments.is(Type::dict) || is_object_text)
                continue;
            call.arguments = Value::dict({{"arguments", call.arguments}});
            if (turns.arguments == ArgumentsForm::text)
                call.arguments = Value(jinja::compact_json(call.arguments));
            has_changed = true;
        }
    }
    return has_changed;
}

// Tools as text, for templates without tool support, in Hermes syntax, which many models have seen in
// training (NousResearch, "Hermes Function Calling").

std::string tool_instructions(const std::vector<Value>& tools) {
    std::string text = "You can call functions. These are their signatures:\n<tools>\n";
    for (const Value& tool : tools)
        text += jinja::compact_json(tool) + "\n";
    return text + "</tools>\nTo call one, answer with nothing but its name and its arguments in JSON:\n"
                  "<tool_call>\n{\"name\": NAME, \"arguments\": {...}}\n</tool_call>\n"
                  "Several calls follow one another. Results come in <tool_response> tags. When no function "
                  "helps, answer in words.";
}

/// Returns the message's content followed by its calls in Hermes syntax.
std::string content_with_calls(const Turn& message) {
    std::string text = message.content;
    for (const TurnCall& call : message.calls) {
        Value arguments = call.arguments;
        if (arguments.is(Type::string)) {
            if (auto parsed = jinja::from_json(arguments.string(), request_nesting_max))
                arguments = std::move(*parsed);
        }
        if (!text.empty())
            text += '\n';
        text += "<tool_call>\n";
        text += jinja::compact_json(Value::dict({{"name", call.name}, {"arguments", arguments}}));
        text += "\n</tool_call>";
    }
    return text;
}

/// Converts past calls and results to text in assistant and user turns, in Hermes syntax.
bool calls_to_text(Turns& turns) {
    bool has_changed = false;
    for (Turn& message : turns.messages) {
        has_changed = has_changed || message.role == "tool" || !message.calls.empty();
        if (message.role == "tool") {
            message = {.role = "user",
                       .content = "<tool_response>\n" + message.content + "\n</tool_response>"};
        } else if (!message.calls.empty()) {
            message.content = content_with_calls(message);
            message.calls.clear();
        }
    }
    return has_changed;
}

void append_to_system(std::vector<Turn>& messages, const std::string& text) {
    if (messages.empty() || messages.front().role != "system")
        messages.insert(messages.begin(), Turn{.role = "system"});
    append(messages.front().content, text);
}

/// Moves the tools into the system message, with instructions for calling them, and past calls into texts.
bool tools_to_text(Turns& turns) {
    if (turns.tools.empty())
        return false;
    calls_to_text(turns);
    append_to_system(turns.messages, tool_instructions(turns.tools));
    turns.tools.clear();
    turns.tools_in_text = true;
    return true;
}

/// Templates of Mistral and others raise an exception for conversations outside their training format; many
/// drop what they do not expect.
constexpr std::array fallbacks = {
    TemplateFallback{
        &tools_to_text, 20, Replaces::tools,
        "the chat template does not support tools: they, calls and results are converted to text"},
    TemplateFallback{
        &calls_to_text, 15, Replaces::calls,
        "the chat template does not support calls: they and their results are converted to text"},
    TemplateFallback{&fold_late_systems, 2, Replaces::late_system,
                     "the chat template renders system messages only at the start: later ones are moved into "
                     "the neighbouring turn"},
    TemplateFallback{&merge_leading_systems, 1, Replaces::system,
                     "the chat template allows one system message: those at the start are merged"},
    TemplateFallback{&split_calls, 3, Replaces::nothing,
                     "the chat template allows one call per message: parallel calls are split"},
    TemplateFallback{&split_text_from_calls, 3, Replaces::nothing,
                     "the chat template drops text beside calls: it becomes a message of its own"},
    TemplateFallback{&complete_turns, 3, Replaces::nothing,
                     "the chat template requires a result for every call and an answer to every "
                     "message: placeholders are added"},
    TemplateFallback{&move_system_into_user, 4, Replaces::system,
                     "the chat template does not support system messages: the text is moved "
                     "into the first user message"},
    TemplateFallback{&begin_with_user, 3, Replaces::nothing,
                     "the chat template requires a user message at the start: a placeholder is added"},
    TemplateFallback{
        &merge_adjacent, 2, Replaces::nothing,
        "the chat template requires alternating roles: adjacent messages of one role are merged"},
    TemplateFallback{&wrap_arguments, 2, Replaces::nothing,
                     "the chat template requires an object as a call's arguments: other arguments are "
                     "its member `arguments`"},
    TemplateFallback{&shorten_ids, 1, Replaces::nothing,
                     "the chat template requires call ids of nine letters and digits: other ids "
                     "are replaced"},
    TemplateFallback{
        &drop_reasoning, 4, Replaces::nothing,
        "the chat template allows no reasoning in a message with content and calls: it is omitted"},
    TemplateFallback{&complete_tools, 1, Replaces::nothing,
                     "the chat template requires descriptions of tools: empty descriptions are added"},
};

} // namespace

std::span<const TemplateFallback> template_fallbacks() {
    return fallbacks;
}

} // namespace etna::chat

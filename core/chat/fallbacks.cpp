#include "core/chat/fallbacks.hpp"

#include "core/chat/request.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace etna::chat {
namespace {

std::string& content_of(Json& message) {
    return message["content"].get_ref<std::string&>();
}

bool calls_tools(const Json& message) {
    const auto calls = message.find("tool_calls");
    return calls != message.end() && calls->is_array() && !calls->empty();
}

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

bool shorten(Json& object, const char* key) {
    const auto id = object.find(key);
    if (id == object.end() || !id->is_string() || is_short_id(id->get_ref<const std::string&>()))
        return false;
    *id = short_id(id->get<std::string>());
    return true;
}

/// Moves the tool messages that answer the call `id` from `results` to `messages`.
void move_results(std::vector<Json>& results, const Json& id, Json& messages) {
    for (auto result = results.begin(); result != results.end();) {
        const auto found = result->find("tool_call_id");
        if (found == result->end() || *found != id) {
            ++result;
            continue;
        }
        messages.push_back(std::move(*result));
        result = results.erase(result);
    }
}

/// Appends one message per call, each followed by its result; only the first has the content.
void append_single_calls(const Json& message, std::vector<Json> results, Json& messages) {
    bool is_first = true;
    for (const Json& call : message["tool_calls"]) {
        Json single = message;
        single["tool_calls"] = Json::array();
        single["tool_calls"].push_back(call);
        if (!is_first)
            single["content"] = "";
        is_first = false;
        messages.push_back(std::move(single));
        move_results(results, call.is_object() && call.contains("id") ? call["id"] : Json(), messages);
    }
    for (Json& result : results) // results of unknown calls
        messages.push_back(std::move(result));
}

constexpr const char* no_result = "(not run)";
constexpr const char* no_answer = "(no answer)";

/// Appends a placeholder for each call of `message` without a result in `results`, the messages after it.
bool append_missing_results(const Json& message, const std::vector<Json>& results, Json& messages) {
    const std::size_t before = messages.size();
    const Json& calls = message["tool_calls"];
    for (const Json& call : calls) {
        const Json id = call.is_object() ? call.value("id", Json()) : Json();
        const bool is_answered = std::any_of(results.begin(), results.end(), [&](const Json& result) {
            return result.value("tool_call_id", Json()) == id;
        });
        const bool has_all_results = results.size() + messages.size() - before >= calls.size();
        if (is_answered || has_all_results)
            continue;
        Json result = {{"role", "tool"}, {"content", no_result}};
        if (!id.is_null())
            result["tool_call_id"] = id;
        if (call.is_object() && call.contains("function") && call["function"].is_object() &&
            call["function"].contains("name"))
            result["name"] = call["function"]["name"];
        messages.push_back(std::move(result));
    }
    return messages.size() > before;
}

/// Adds an empty description to each property without one.
bool complete_properties(Json& parameters) {
    if (!parameters.is_object() || !parameters.contains("properties") ||
        !parameters["properties"].is_object())
        return false;
    bool has_changed = false;
    for (Json& property : parameters["properties"]) {
        if (property.is_object() && !property.contains("description")) {
            property["description"] = "";
            has_changed = true;
        }
    }
    return has_changed;
}

/// Merges adjacent messages of one role, separated by a blank line; not tool messages or messages with calls.
bool merge_adjacent(Json& request) {
    Json& messages = request["messages"];
    Json merged = Json::array();
    for (Json& message : messages) {
        const bool can_merge = !merged.empty() && merged.back()["role"] == message["role"] &&
                               !has_role(message, "tool") && !calls_tools(merged.back()) &&
                               !calls_tools(message);
        if (can_merge) {
            append(content_of(merged.back()), content_of(message));
        } else {
            merged.push_back(std::move(message));
        }
    }
    const bool has_changed = merged.size() != messages.size();
    messages = std::move(merged);
    return has_changed;
}

/// Replaces call ids by nine letters and digits, as Mistral templates require.
bool shorten_ids(Json& request) {
    bool has_changed = false;
    for (Json& message : request["messages"]) {
        has_changed = shorten(message, "tool_call_id") || has_changed;
        if (!calls_tools(message))
            continue;
        for (Json& call : message["tool_calls"])
            has_changed = (call.is_object() && shorten(call, "id")) || has_changed;
    }
    return has_changed;
}

/// Splits a message with several calls into one message per call, each followed by its result.
bool split_calls(Json& request) {
    Json messages = Json::array();
    bool has_changed = false;
    Json& old = request["messages"];
    for (std::size_t i = 0; i < old.size(); ++i) {
        if (!calls_tools(old[i]) || old[i]["tool_calls"].size() < 2) {
            messages.push_back(old[i]);
            continue;
        }
        std::vector<Json> results;
        const Json& message = old[i];
        for (; i + 1 < old.size() && has_role(old[i + 1], "tool"); ++i)
            results.push_back(old[i + 1]);
        append_single_calls(message, std::move(results), messages);
        has_changed = true;
    }
    old = std::move(messages);
    return has_changed;
}

/// Adds a placeholder result to each call without one, placeholder content to an assistant message that has
/// neither content nor calls, and a placeholder answer between tool results and the next user message.
bool complete_turns(Json& request) {
    Json messages = Json::array();
    bool has_changed = false;
    const Json& old = request["messages"];
    for (std::size_t i = 0; i < old.size(); ++i) {
        const bool follows_results = !messages.empty() && has_role(messages.back(), "tool");
        if (has_role(old[i], "user") && follows_results) {
            messages.push_back({{"role", "assistant"}, {"content", no_answer}});
            has_changed = true;
        }
        messages.push_back(old[i]);
        if (!has_role(old[i], "assistant"))
            continue;
        if (!calls_tools(old[i])) {
            const bool is_empty = content_of(messages.back()).empty();
            if (is_empty)
                messages.back()["content"] = no_answer;
            has_changed = is_empty || has_changed;
            continue;
        }
        std::vector<Json> results;
        const Json& message = old[i];
        for (; i + 1 < old.size() && has_role(old[i + 1], "tool"); ++i)
            results.push_back(old[i + 1]);
        for (const Json& result : results)
            messages.push_back(result);
        has_changed = append_missing_results(message, results, messages) || has_changed;
    }
    request["messages"] = std::move(messages);
    return has_changed;
}

/// Removes the reasoning of assistant messages that have both calls and content.
bool drop_reasoning(Json& request) {
    bool has_changed = false;
    for (Json& message : request["messages"]) {
        if (!calls_tools(message) || content_of(message).empty())
            continue;
        for (const char* key : reasoning_keys)
            has_changed = message.erase(key) > 0 || has_changed;
    }
    return has_changed;
}

/// Adds empty descriptions and parameters to tools, and descriptions to their properties, if missing.
bool complete_tools(Json& request) {
    const auto tools = request.find("tools");
    if (tools == request.end() || !tools->is_array())
        return false;
    bool has_changed = false;
    for (Json& tool : *tools) {
        if (!tool.is_object() || !tool.contains("function") || !tool["function"].is_object())
            continue;
        Json& function = tool["function"];
        if (!function.contains("description")) {
            function["description"] = "";
            has_changed = true;
        }
        if (!function.contains("parameters")) {
            function["parameters"] = {{"type", "object"}, {"properties", Json::object()}};
            has_changed = true;
        }
        has_changed = complete_properties(function["parameters"]) || has_changed;
    }
    return has_changed;
}

/// Templates of Mistral and others raise an exception for conversations outside their training format.
constexpr std::array fallbacks = {
    TemplateFallback{
        &merge_adjacent,
        "the chat template requires alternating roles: adjacent messages of one role are merged"},
    TemplateFallback{&complete_turns,
                     "the chat template requires a result for every call and an answer to every "
                     "message: placeholders are added"},
    TemplateFallback{&shorten_ids,
                     "the chat template requires call ids of nine letters and digits: other ids "
                     "are replaced"},
    TemplateFallback{&split_calls, "the chat template allows one call per message: parallel calls are split"},
    TemplateFallback{
        &drop_reasoning,
        "the chat template allows no reasoning in a message with content and calls: it is omitted"},
    TemplateFallback{&complete_tools,
                     "the chat template requires descriptions of tools: empty descriptions are added"},
    TemplateFallback{&merge_system_messages,
                     "the chat template allows one system message: all are merged into the first"},
};

// Tools as text, for templates without tool support, in Hermes syntax, which many models have seen in
// training (NousResearch, "Hermes Function Calling").

std::string tool_instructions(const Json& tools) {
    std::string text = "You can call functions. These are their signatures:\n<tools>\n";
    for (const Json& tool : tools)
        text += dump_json(tool) + "\n";
    return text + "</tools>\nTo call one, answer with nothing but its name and its arguments in JSON:\n"
                  "<tool_call>\n{\"name\": NAME, \"arguments\": {...}}\n</tool_call>\n"
                  "Several calls follow one another. Results come in <tool_response> tags. When no function "
                  "helps, answer in words.";
}

/// Returns the message's content followed by its calls in Hermes syntax.
std::string content_with_calls(const Json& message) {
    std::string text = message["content"].get<std::string>();
    for (const Json& call : message["tool_calls"]) {
        if (!call.is_object() || !call.contains("function") || !call["function"].is_object())
            continue;
        const Json& function = call["function"];
        Json arguments = function.value("arguments", Json::object());
        if (arguments.is_string())
            arguments = parse_json(arguments.get<std::string>());
        const Json hermes_call = {{"name", function.value("name", Json(""))},
                                  {"arguments", arguments.is_discarded() ? Json::object() : arguments}};
        if (!text.empty())
            text += '\n';
        text += "<tool_call>\n";
        text += dump_json(hermes_call);
        text += "\n</tool_call>";
    }
    return text;
}

void append_to_system(Json& messages, const std::string& text) {
    if (messages.empty() || !has_role(messages.front(), "system")) {
        messages.insert(messages.begin(), Json::object({{"role", "system"}, {"content", text}}));
        return;
    }
    const auto system = messages.front()["content"].get<std::string>();
    messages.front()["content"] = system.empty() ? text : system + "\n\n" + text;
}

} // namespace

std::span<const TemplateFallback> template_fallbacks() {
    return fallbacks;
}

void calls_to_text(Json& messages) {
    for (Json& message : messages) {
        if (has_role(message, "tool")) {
            const auto result = message["content"].get<std::string>();
            message = Json::object(
                {{"role", "user"}, {"content", "<tool_response>\n" + result + "\n</tool_response>"}});
        } else if (message.contains("tool_calls") && message["tool_calls"].is_array()) {
            message["content"] = content_with_calls(message);
            message.erase("tool_calls");
        }
    }
}

void describe_tools(Json& request) {
    append_to_system(request["messages"], tool_instructions(request["tools"]));
    request.erase("tools");
}

bool merge_system_messages(Json& request) {
    Json& messages = request["messages"];
    std::string system;
    Json others = Json::array();
    bool has_changed = false;
    for (Json& message : messages) {
        if (has_role(message, "system")) {
            has_changed = has_changed || !others.empty() || !system.empty();
            append(system, content_of(message));
        } else {
            others.push_back(std::move(message));
        }
    }
    if (!system.empty())
        others.insert(others.begin(), Json::object({{"role", "system"}, {"content", system}}));
    messages = std::move(others);
    return has_changed;
}

void move_system_into_user(Json& messages) {
    const std::string system = content_of(messages.front());
    messages.erase(messages.begin());
    const auto user = std::find_if(messages.begin(), messages.end(),
                                   [](const Json& message) { return has_role(message, "user"); });
    if (user == messages.end()) {
        messages.insert(messages.begin(), Json::object({{"role", "user"}, {"content", system}}));
        return;
    }
    std::string text = system;
    append(text, content_of(*user));
    content_of(*user) = std::move(text);
}

} // namespace etna::chat

#include "core/chat/adaptations_private.hpp"

#include <algorithm>
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
void take_results(std::vector<Json>& results, const Json& id, Json& messages) {
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
void append_one_by_one(const Json& message, std::vector<Json> results, Json& messages) {
    bool is_first = true;
    for (const Json& call : message["tool_calls"]) {
        Json single = message;
        single["tool_calls"] = Json::array();
        single["tool_calls"].push_back(call);
        if (!is_first)
            single["content"] = "";
        is_first = false;
        messages.push_back(std::move(single));
        take_results(results, call.is_object() && call.contains("id") ? call["id"] : Json(), messages);
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
        const bool are_enough = results.size() + messages.size() - before >= calls.size();
        if (is_answered || are_enough)
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

} // namespace

void merge_system(Json& messages) {
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

bool join_neighbours(Json& request) {
    Json& messages = request["messages"];
    Json joined = Json::array();
    for (Json& message : messages) {
        const bool joins = !joined.empty() && joined.back()["role"] == message["role"] &&
                           !has_role(message, "tool") && !calls_tools(joined.back()) && !calls_tools(message);
        if (joins) {
            append(content_of(joined.back()), content_of(message));
        } else {
            joined.push_back(std::move(message));
        }
    }
    const bool has_changed = joined.size() != messages.size();
    messages = std::move(joined);
    return has_changed;
}

bool gather_systems(Json& request) {
    Json& messages = request["messages"];
    std::string system;
    Json others = Json::array();
    bool is_late = false;
    for (Json& message : messages) {
        if (has_role(message, "system")) {
            is_late = is_late || !others.empty() || !system.empty();
            append(system, content_of(message));
        } else {
            others.push_back(std::move(message));
        }
    }
    if (!system.empty())
        others.insert(others.begin(), Json::object({{"role", "system"}, {"content", system}}));
    messages = std::move(others);
    return is_late;
}

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
        append_one_by_one(message, std::move(results), messages);
        has_changed = true;
    }
    old = std::move(messages);
    return has_changed;
}

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

} // namespace etna::chat

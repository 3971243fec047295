#include "cli/chat/saved.hpp"

#include "core/base/json.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr const char* own_member = "etna";

Error wrong(std::string_view what) {
    return {ErrorKind::invalid_argument, fmt::format("`{}` {}", own_member, what),
            "take the member away, then the rest is a chat request"};
}

std::string text_of(const Json& json) {
    return dump_json(json);
}

/// Returns the template arguments without those for one particular answer, and without the thinking switches
/// if the settings contain them.
std::string lasting(const std::string& arguments, bool has_settings) {
    Json json = parse_json(arguments);
    if (!json.is_object())
        return {};
    for (const char* name : {"add_generation_prompt", "continue_final_message"})
        json.erase(name);
    if (has_settings && json.contains("chat_template_kwargs")) {
        Json& kwargs = json["chat_template_kwargs"];
        for (const char* name : {"enable_thinking", "thinking"})
            kwargs.erase(name);
        if (kwargs.empty())
            json.erase("chat_template_kwargs");
    }
    return json.empty() ? std::string() : text_of(json);
}

Status read_settings(const Json& settings, std::vector<Setting>& read) {
    if (!settings.is_object())
        return wrong("has settings that are no object");
    for (const auto& [name, values] : settings.items()) {
        for (const Json& value : values.is_array() ? values : Json::array({values})) {
            if (!value.is_string())
                return wrong(fmt::format("has a setting `{}` that is no text", name));
            read.push_back({name, value.get<std::string>()});
        }
    }
    return {};
}

} // namespace

std::string saved_json(const ChatSession& session, const ChatSettings& settings) {
    Json json = parse_json(chat::request_json(session.conversation()));
    Json own = Json::object();
    for (const Setting& setting : settings.entries())
        own["settings"][setting.name].push_back(setting.value);
    if (!session.tools().file().empty())
        own["tools_file"] = session.tools().file().string();
    if (!own.empty())
        json[own_member] = std::move(own);
    return text_of(json) + "\n";
}

Result<Saved> parse_saved(std::string_view text) {
    Saved saved;
    ETNA_TRY(saved.conversation, chat::parse_conversation(text));
    const Json json = parse_json(text);
    const auto own = json.find(own_member);
    saved.conversation.template_arguments = lasting(saved.conversation.template_arguments, own != json.end());
    if (own == json.end())
        return saved;
    if (!own->is_object())
        return wrong("is no object");
    if (const auto settings = own->find("settings"); settings != own->end())
        ETNA_CHECK(read_settings(*settings, saved.settings));
    if (const auto file = own->find("tools_file"); file != own->end()) {
        if (!file->is_string())
            return wrong("has a tools_file that is no text");
        saved.tools_file = file->get<std::string>();
    }
    return saved;
}

} // namespace etna::cli

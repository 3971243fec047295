#include "cli/chat/settings.hpp"

#include "cli/terminal/printable.hpp"
#include "core/base/near_names.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::cli {
namespace {

/// Returns false for options that are fixed during a chat or have their own command.
bool can_be_set(const Option& option) {
    if (option.visibility == Visibility::hidden || option.name == "chat-template" ||
        option.name == "system" || option.name == "tools" || option.name == "yes" ||
        option.name == "no-history")
        return false;
    return option.category != Category::models && option.category != Category::device &&
           option.category != Category::help && option.name != "verbose";
}

constexpr std::array thinking_names = {"think", "no-think"}; // mutually exclusive

bool is_about_thinking(const std::string& name) {
    return std::find(thinking_names.begin(), thinking_names.end(), name) != thinking_names.end();
}

/// A name, as typed after /set, with the value that it implies.
struct NamedSetting {
    std::string name;
    std::string value = {};
};

/// Returns the option that Ollama's name stands for; otherwise the name itself.
NamedSetting in_our_names(const Command& command, std::string name) {
    if (name == "wordwrap")
        return {"no-wrap", "off"};
    if (name == "nothink")
        return {"no-think"};
    std::ranges::replace(name, '_', '-'); // num_predict
    const CompatOption* compat = find_compat(command, "--" + name);
    if (compat == nullptr || compat->meaning != CompatMeaning::ours)
        return {name};
    return {std::string(compat->ours), compat->fixed == "true" ? "on" : std::string(compat->fixed)};
}

Error no_such_setting(const Command& command, const std::string& name) {
    if (const Option* fixed = find_option(command, name); fixed != nullptr && has_environment_name(*fixed)) {
        return {ErrorKind::invalid_argument, fmt::format("{} cannot be changed during a chat", fixed->name),
                fmt::format("start the chat with --{}", fixed->name)};
    }
    if (const CompatOption* compat = find_compat(command, "--" + name);
        compat != nullptr && compat->meaning == CompatMeaning::missing) {
        return {ErrorKind::invalid_argument, fmt::format("there is no setting {}", backquoted(name)),
                std::string(compat->hint)};
    }
    std::vector<std::string> known;
    for (const Option& option : command.options) {
        if (can_be_set(option))
            known.emplace_back(option.name);
    }
    const auto near = near_names(name, known);
    return {ErrorKind::invalid_argument, fmt::format("there is no setting {}", backquoted(name)),
            near.empty() ? fmt::format("settings are {}", fmt::join(known, ", "))
                         : fmt::format("did you mean {}?", fmt::join(near, " or "))};
}

} // namespace

Result<ChatSettings> ChatSettings::create(const Command& command, TypedArguments arguments) {
    ChatSettings settings(command);
    ETNA_CHECK(settings.apply(std::move(arguments)));
    return settings;
}

Status ChatSettings::apply(TypedArguments arguments) {
    const OptionValues values(*command_, arguments);
    ETNA_TRY(const bool is_off, values.flag("no-wrap"));
    ETNA_TRY(generation_, read_generation(values));
    lines_ = is_off ? LineWrap::off : LineWrap::words;
    arguments_ = std::move(arguments);
    return {};
}

bool ChatSettings::is_switch(const std::string& name) const {
    const NamedSetting named = in_our_names(*command_, name);
    const Option* option = find_option(*command_, named.name);
    return !named.value.empty() || (option != nullptr && option->kind == Kind::flag);
}

Result<std::vector<std::string>> ChatSettings::lines_of(const std::string& typed_name) const {
    const std::string name = in_our_names(*command_, typed_name).name;
    const Option* option = find_option(*command_, name);
    if (option == nullptr || !can_be_set(*option))
        return no_such_setting(*command_, name);
    std::vector<std::string> lines;
    if (const auto set = arguments_.options.find(name); set != arguments_.options.end()) {
        for (const TypedValue& value : set->second)
            lines.push_back(fmt::format("{} {}", name, value.text));
        return lines;
    }
    return std::vector{fmt::format("{} is not set{}{}", name,
                                   option->default_text.empty() ? "" : "; default: ", option->default_text)};
}

Status ChatSettings::set(const std::string& typed_name, const std::string& typed_value) {
    const NamedSetting named = in_our_names(*command_, typed_name);
    const std::string& name = named.name;
    const std::string& value = typed_value.empty() ? named.value : typed_value;
    const Option* option = find_option(*command_, name);
    if (option == nullptr || !can_be_set(*option))
        return no_such_setting(*command_, name);
    TypedArguments changed = arguments_;
    if (option->kind == Kind::flag) {
        if (!value.empty() && value != "on" && value != "off")
            return invalid_argument(fmt::format("/set {} takes on or off", name));
        if (is_about_thinking(name)) {
            for (const char* each : thinking_names)
                changed.options.erase(each);
        }
        changed.options[name] = {{value == "off" ? "false" : "true", "/set " + name}};
    } else if (value.empty()) {
        return invalid_argument(fmt::format("/set {} needs a value", name),
                                fmt::format("{}: {}", name, option->description));
    } else if (option->repeat == Repeat::collect) {
        changed.options[name].push_back({value, "/set " + name});
    } else {
        changed.options[name] = {{value, "/set " + name}};
    }
    return apply(std::move(changed));
}

Status ChatSettings::restore(const std::vector<Setting>& settings) {
    TypedArguments changed = arguments_;
    for (const Setting& setting : settings) {
        const Option* option = find_option(*command_, setting.name);
        if (option == nullptr || !can_be_set(*option))
            return no_such_setting(*command_, setting.name);
        changed.options.erase(setting.name);
        if (is_about_thinking(setting.name)) {
            for (const char* name : thinking_names)
                changed.options.erase(name);
        }
    }
    for (const Setting& setting : settings)
        changed.options[setting.name].push_back({setting.value, setting.name});
    return apply(std::move(changed));
}

std::vector<Setting> ChatSettings::entries() const {
    std::vector<Setting> entries;
    for (const auto& [name, values] : arguments_.options) {
        const Option* option = find_option(*command_, name);
        if (option == nullptr || !can_be_set(*option))
            continue;
        for (const TypedValue& value : values)
            entries.push_back({name, value.text});
    }
    return entries;
}

} // namespace etna::cli

#include "core/chat/reasoning_controls.hpp"

#include "core/chat/chat_template.hpp"
#include "core/chat/request.hpp"
#include "core/chat/turns.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

namespace etna::chat {
namespace {

using jinja::Type;
using jinja::Value;

/// OpenAI's words for reasoning effort, from shallow to deep, without "none".
constexpr std::array<std::string_view, 6> scale = {"minimal", "low", "medium", "high", "xhigh", "max"};
constexpr std::string_view no_effort = "none";
constexpr std::string_view medium = "medium";
constexpr std::string_view default_effort; ///< the template's default, if that has no word
constexpr std::string_view effort_member = "reasoning_effort";
constexpr std::string_view kwargs_name = "chat_template_kwargs";

/// Variables for the effort: of most templates, Kimi K3, and Onyx and Muse.
constexpr std::array<std::string_view, 3> effort_variables = {effort_member, "thinking_effort",
                                                              "reasoning_strength"};
/// A word that no template knows.
constexpr std::string_view unknown_word = "gorsefell";

/// The two switches of most templates; both are always set.
constexpr std::array<std::string_view, 2> usual_switches = {"enable_thinking", "thinking"};

/// Returns the place of the word in the scale; its size if it is not in it.
std::size_t depth_of(std::string_view word) {
    return static_cast<std::size_t>(std::ranges::find(scale, word == default_effort ? medium : word) -
                                    scale.begin());
}

std::vector<ThinkingSwitch> known_switches() {
    std::vector<ThinkingSwitch> switches;
    for (const std::string_view name : usual_switches)
        switches.push_back({name, Value(true), Value(false)});
    switches.push_back({"thinking_mode", Value("enabled"), Value("disabled")}); // MiniMax M3
    switches.push_back({"thinking_budget", std::nullopt, Value(int64_t{0})});   // Seed-OSS
    switches.push_back({effort_member, std::nullopt, Value(no_effort)});        // Cohere
    return switches;
}

/// Renders a user message with variables of a template.
class Probe {
public:
    Probe(const ChatTemplate& chat_template, const Value& user_message)
        : template_(&chat_template), messages_(Value::list({user_message})) {}

    /// Returns an empty string if the template refuses.
    [[nodiscard]] std::string prompt(NamedValues variables) const {
        const Value request = Value::dict(
            {{"messages", messages_}, {std::string(kwargs_name), Value::dict(std::move(variables))}});
        const auto rendered = template_->render(request, 0, SpelledTokens::all);
        return rendered ? rendered->text : std::string();
    }

    /// Returns the prompt of a model that thinks, with that effort; with no variable, by default.
    [[nodiscard]] std::string with_effort(std::string_view variable, std::string_view word) const {
        NamedValues variables;
        if (!variable.empty())
            variables.emplace_back(variable, word);
        for (const std::string_view name : usual_switches)
            variables.emplace_back(name, true);
        return prompt(std::move(variables));
    }

    /// Whether the template's source has the word in quotes.
    [[nodiscard]] bool quotes(std::string_view word) const {
        const std::string& text = template_->text();
        return text.find(fmt::format("'{}'", word)) != std::string::npos ||
               text.find(fmt::format("\"{}\"", word)) != std::string::npos;
    }

private:
    const ChatTemplate* template_; ///< borrowed
    Value messages_;
};

std::string replaced(std::string text, std::string_view old, std::string_view word) {
    for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + word.size()))
        text.replace(at, old.size(), word);
    return text;
}

/// Whether models of a template that writes any word into the prompt have seen this one.
bool is_usual(std::string_view word) {
    return word == "low" || word == "medium" || word == "high";
}

/// Returns the words with a meaning: those that change the prompt in another way than an unknown word does.
/// If the template's default has no word among them, it stands for "medium", as an empty word.
std::vector<std::string_view> effort_words(const Probe& probe, std::string_view variable) {
    const std::string unknown = probe.with_effort(variable, unknown_word);
    const bool is_echoed = unknown.find(unknown_word) != std::string::npos;
    std::vector<std::string_view> words = {no_effort};
    words.insert(words.end(), scale.begin(), scale.end());
    std::erase_if(words, [&](std::string_view word) {
        const std::string prompt = probe.with_effort(variable, word);
        if (prompt.empty())
            return true;
        const bool differs = prompt != replaced(unknown, unknown_word, word);
        return !differs && !(is_echoed && is_usual(word)) && !(word != no_effort && probe.quotes(word));
    });
    const std::string by_default = probe.with_effort({}, {});
    const bool is_named = std::ranges::any_of(words, [&](std::string_view word) {
        return word == medium || probe.with_effort(variable, word) == by_default;
    });
    if (!words.empty() && !is_named) {
        const auto deeper = std::ranges::find_if(words, [](std::string_view word) {
            return word != no_effort && depth_of(word) > depth_of(medium);
        });
        words.insert(deeper, default_effort);
    }
    return words;
}

void find_effort(const Probe& probe, const std::string& text, ReasoningControls& controls) {
    for (const std::string_view variable : effort_variables) {
        if (text.find(variable) == std::string::npos)
            continue;
        std::vector<std::string_view> words = effort_words(probe, variable);
        if (words.empty())
            continue;
        controls.effort_variable = variable;
        controls.effort_words = std::move(words);
        return;
    }
}

bool knows(const ReasoningControls& controls, std::string_view word) {
    return std::ranges::find(controls.effort_words, word) != controls.effort_words.end();
}

void find_switches(const Probe& probe, ReasoningControls& controls) {
    const std::string by_default = probe.prompt({});
    for (ThinkingSwitch& one : known_switches()) {
        if (one.variable == effort_member &&
            (controls.effort_variable != effort_member || !knows(controls, no_effort)))
            continue; // the word is written into the prompt, or refused
        const std::string off = probe.prompt({{std::string(one.variable), one.off}});
        const std::string on = one.on ? probe.prompt({{std::string(one.variable), *one.on}}) : by_default;
        if (on == off || off.empty())
            continue;
        controls.is_off_by_default = controls.is_off_by_default || by_default == off;
        controls.switches.push_back(std::move(one));
    }
}

/// Returns the known word of the scale that is nearest to the depth, or default_effort; nothing if there is
/// none.
std::optional<std::string_view> nearest_word(const ReasoningControls& controls, std::size_t depth) {
    std::optional<std::string_view> nearest;
    std::size_t least = scale.size();
    for (const std::string_view word :
         controls.effort_words) { // from shallow to deep: of two, the deeper wins
        if (word == no_effort)
            continue;
        const std::size_t own = depth_of(word);
        const std::size_t distance = own > depth ? own - depth : depth - own;
        if (distance > least)
            continue;
        least = distance;
        nearest = word;
    }
    return nearest;
}

Value kwargs_of(const NamedValues& arguments) {
    for (auto argument = arguments.rbegin(); argument != arguments.rend(); ++argument) {
        if (argument->first == kwargs_name && argument->second.is(Type::dict))
            return argument->second;
    }
    return Value::dict({});
}

/// Returns the effort that the request asks for: the template's keyword wins over the member.
std::optional<std::string> requested_effort(const NamedValues& arguments, const Value& kwargs) {
    const Value* effort = find_member(kwargs, effort_member);
    for (const auto& [name, value] : arguments) {
        if (effort == nullptr && name == effort_member)
            effort = &value;
    }
    if (effort == nullptr || !effort->is(Type::string))
        return std::nullopt;
    return effort->string();
}

Value without_member(const Value& object, std::string_view name) {
    NamedValues rest;
    for (const auto& [key, member] : object.dict()->entries) {
        if (key.string() != name)
            rest.emplace_back(key.string(), member);
    }
    return Value::dict(std::move(rest));
}

/// Sets the usual switches, and those of the template that have no explicit value.
Value with_switches(Value kwargs, const ReasoningControls& controls, Thinking thinking) {
    const bool thinks = thinking == Thinking::on;
    for (const std::string_view name : usual_switches)
        kwargs = with_member(kwargs, name, thinks);
    for (const ThinkingSwitch& one : controls.switches) {
        const bool is_explicit = find_member(kwargs, one.variable) != nullptr;
        if (is_explicit || (thinks && !one.on))
            continue;
        kwargs = with_member(kwargs, one.variable, thinks ? *one.on : one.off);
    }
    return kwargs;
}

} // namespace

ReasoningControls probe_reasoning_controls(const ChatTemplate& chat_template, const Value& user_message) {
    const Probe probe(chat_template, user_message);
    ReasoningControls controls;
    find_effort(probe, chat_template.text(), controls);
    find_switches(probe, controls);
    return controls;
}

EffortChoice choose_effort(const ReasoningControls& controls, const std::string& requested) {
    if (knows(controls, requested))
        return {.word = requested};
    const bool is_switchable = !controls.switches.empty();
    if (requested == no_effort && is_switchable)
        return {.word = {}};
    const std::size_t depth = requested == no_effort ? 0 : depth_of(requested);
    if (depth == scale.size())
        return {.word = requested};
    const std::optional<std::string_view> nearest = nearest_word(controls, depth);
    if (!nearest)
        return {.word = requested, .has_effect = is_switchable};
    if (*nearest == default_effort)
        return {.word = {}, .has_changed = requested != medium};
    return {.word = std::string(*nearest), .has_changed = true};
}

std::optional<EffortChoice> set_effort(NamedValues& arguments, const ReasoningControls& controls) {
    Value kwargs = kwargs_of(arguments);
    const std::optional<std::string> requested = requested_effort(arguments, kwargs);
    if (!requested)
        return std::nullopt;
    EffortChoice choice = choose_effort(controls, *requested);
    std::erase_if(arguments, [](const auto& argument) { return argument.first == effort_member; });
    kwargs = without_member(kwargs, effort_member);
    const std::string_view variable =
        controls.effort_variable.empty() ? effort_member : controls.effort_variable;
    if (choice.word && find_member(kwargs, variable) == nullptr)
        kwargs = with_member(kwargs, variable, *choice.word);
    set_argument(arguments, kwargs_name, std::move(kwargs));
    return choice;
}

void set_thinking(NamedValues& arguments, const ReasoningControls& controls, Thinking thinking) {
    if (thinking != Thinking::template_default)
        set_argument(arguments, kwargs_name, with_switches(kwargs_of(arguments), controls, thinking));
}

} // namespace etna::chat

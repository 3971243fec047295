#include "core/chat/outline.hpp"

#include "core/chat/control_names.hpp"
#include "core/chat/request.hpp"
#include "core/jinja/json.hpp"

#include <charconv>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace etna::chat {
namespace {

using jinja::Type;
using jinja::Value;

// Each word is the prefix, a number and the end, which no template and no other word contains.
constexpr std::string_view word_prefix = template_free_word;
constexpr char word_end = 'e';

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

/// Returns arguments of the same type with one word in place of all of them. Empty ones stay as they are.
Value arguments_with_word(const Value& arguments, const std::string& word) {
    if (arguments.is(Type::dict))
        return Value::dict({{"argument", word}});
    if (arguments.is_sequence())
        return Value::list({Value(word)});
    const auto parsed =
        jinja::from_json(arguments.is(Type::string) ? arguments.string() : "", request_nesting_max);
    if (parsed && parsed->is(Type::dict))
        return Value(jinja::compact_json(Value::dict({{"argument", word}})));
    return Value(word);
}

bool is_empty(const Value& arguments) {
    if (arguments.is(Type::dict))
        return arguments.dict()->entries.empty();
    if (arguments.is(Type::string))
        return is_blank(arguments.string()) || arguments.string() == "{}";
    return arguments.is_sequence() && arguments.sequence()->items.empty();
}

} // namespace

Outline::Outline(const Turns& turns) : turns_(turns) {
    std::map<std::string, std::string> names; // of the calls so far, by id
    for (std::size_t i = 0; i < turns_.messages.size(); ++i) {
        Turn& turn = turns_.messages[i];
        replace_texts(turn, i);
        replace_calls(turn, i);
        for (const TurnCall& call : turn.calls)
            names[call.id] = call.name;
        if (const auto name = names.find(turn.tool_call_id); name != names.end() && !turn.tool_name.empty())
            turn.tool_name = name->second;
    }
    replace_tools();
}

std::vector<OutlinePart> Outline::missing(std::string_view text) const {
    std::vector<bool> is_found(parts_.size());
    const std::string prompt = folded(text); // templates may write texts in capital letters
    for (std::size_t at = prompt.find(word_prefix); at != std::string::npos;
         at = prompt.find(word_prefix, at + word_prefix.size())) {
        const char* const end = prompt.data() + prompt.size();
        std::size_t number = 0;
        const auto read = std::from_chars(prompt.data() + at + word_prefix.size(), end, number);
        if (read.ec == std::errc() && read.ptr != end && *read.ptr == word_end && number < is_found.size())
            is_found[number] = true;
    }
    std::vector<OutlinePart> missing;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (!is_found[i])
            missing.push_back(parts_[i]);
    }
    return missing;
}

/// Returns the part's word.
std::string Outline::add_part(OutlinePart part) {
    parts_.push_back(std::move(part));
    return fmt::format("{}{}{}", word_prefix, parts_.size() - 1, word_end);
}

/// Reasoning is replaced, too, but templates drop that of earlier answers by design.
void Outline::replace_texts(Turn& turn, std::size_t position) {
    if (!is_blank(turn.reasoning))
        turn.reasoning = "reasoning";
    if (is_blank(turn.content))
        return;
    const PartKind kind = turn.calls.empty() ? PartKind::content : PartKind::text_beside_calls;
    turn.content = add_part({.kind = kind, .role = turn.role, .position = position});
}

void Outline::replace_calls(Turn& turn, std::size_t position) {
    for (std::size_t i = 0; i < turn.calls.size(); ++i) {
        TurnCall& call = turn.calls[i];
        const std::string word =
            add_part({.kind = PartKind::call, .role = turn.role, .position = position, .call = i});
        if (is_empty(call.arguments))
            call.name = word;
        else
            call.arguments = arguments_with_word(call.arguments, word);
    }
}

void Outline::replace_tools() {
    for (std::size_t i = 0; i < turns_.tools.size(); ++i) {
        const Value* const function = find_member(turns_.tools[i], "function");
        if (function == nullptr || text_member(*function, "name").empty())
            continue;
        const std::string word = add_part({.kind = PartKind::tool, .position = i});
        turns_.tools[i] = with_member(turns_.tools[i], "function", with_member(*function, "name", word));
    }
}

} // namespace etna::chat

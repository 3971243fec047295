#include "core/chat/name_guard.hpp"

#include "core/base/utf8.hpp"

#include <algorithm>
#include <bitset>
#include <charconv>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::chat {
namespace {

using jinja::Type;
using jinja::Value;

constexpr char32_t first_private = 0xE000;
constexpr std::size_t private_count = 6400;
using PrivateSet = std::bitset<private_count>;

void add_private(char32_t code_point, PrivateSet& used) {
    if (code_point >= first_private && code_point < first_private + private_count)
        used.set(code_point - first_private);
}

/// Adds the private code points of the text, also those that are escaped: "\uE000".
void add_private(std::string_view text, PrivateSet& used) {
    constexpr std::size_t digits = 4;
    for (std::size_t i = text.find("\\u"); i != std::string_view::npos; i = text.find("\\u", i + 1)) {
        const std::string_view hex = text.substr(i + 2, digits);
        uint32_t code_point = 0;
        std::from_chars(hex.data(), hex.data() + hex.size(), code_point, 16);
        add_private(code_point, used);
    }
    for (std::size_t i = text.find_first_of("\xEE\xEF"); i != std::string_view::npos;
         i = text.find_first_of("\xEE\xEF", i + 1)) {
        const Utf8Step step = next_utf8(text.substr(i));
        if (step.kind == Utf8Kind::valid)
            add_private(code_point_of(text.substr(i), step.bytes), used);
    }
}

using Change = std::function<std::string(const std::string& text)>;

/// Returns a copy of the value with each string and name changed.
Value changed(const Value& value, const Change& change) {
    if (value.is(Type::string))
        return change(value.string());
    if (value.is_sequence()) {
        std::vector<Value> items;
        for (const Value& item : value.sequence()->items)
            items.push_back(changed(item, change));
        return Value::list(std::move(items));
    }
    if (!value.is(Type::dict))
        return value;
    NamedValues entries;
    for (const auto& [name, member] : value.dict()->entries)
        entries.emplace_back(change(name.string()), changed(member, change));
    return Value::dict(std::move(entries));
}

/// Returns a message with each string changed, but for a role: templates may form a token of one.
Value changed_message(const Value& message, const Change& change) {
    NamedValues entries;
    for (const auto& [name, member] : message.dict()->entries) {
        const bool is_role =
            name.string() == "role" && member.is(Type::string) && is_identifier(member.string());
        entries.emplace_back(change(name.string()), is_role ? member : changed(member, change));
    }
    return Value::dict(std::move(entries));
}

/// Returns the request with each string of a client changed.
Value changed_request(const Value& request, const Change& change) {
    NamedValues entries;
    for (const auto& [name, member] : request.dict()->entries) {
        if (name.string() == "messages") {
            std::vector<Value> messages;
            for (const Value& message : member.sequence()->items)
                messages.push_back(changed_message(message, change));
            entries.emplace_back(name.string(), Value::list(std::move(messages)));
        } else if (name.string() == "bos_token" || name.string() == "eos_token") {
            entries.emplace_back(name.string(), member);
        } else if (name.string() == "chat_template_kwargs" && member.is(Type::dict)) {
            NamedValues kwargs;
            for (const auto& [kwarg, value] : member.dict()->entries)
                kwargs.emplace_back(kwarg.string(), changed(value, change));
            entries.emplace_back(name.string(), Value::dict(std::move(kwargs)));
        } else {
            entries.emplace_back(name.string(), changed(member, change));
        }
    }
    return Value::dict(std::move(entries));
}

} // namespace

NameGuard::NameGuard(const ControlNames& names, const Value& request, std::string_view template_text)
    : names_(&names), request_(&request) {
    PrivateSet used;
    changed_request(request, [&](const std::string& text) {
        for (const NameBreak& one : names.breaks(text))
            spellings_.insert(one.spelling);
        add_private(text, used);
        return std::string();
    });
    add_private(template_text, used);
    for (std::size_t i = 0; i < private_count && mark_.empty(); ++i) {
        if (used.test(i))
            continue;
        const auto code_point = static_cast<char32_t>(first_private + i);
        append_utf8(mark_, code_point);
        escaped_mark_ = fmt::format("\\u{:04x}", static_cast<uint32_t>(code_point));
    }
}

Result<Value> NameGuard::broken(Spelling last) const {
    if (mark_.empty()) {
        return invalid_argument("the request has the name of a control token, and every private code point",
                                "leave out U+E000, or another code point up to U+F8FF");
    }
    return changed_request(*request_, [&](const std::string& text) {
        std::string marked;
        std::size_t end = 0;
        for (const NameBreak& one : names_->breaks(text)) {
            if (one.spelling > last)
                continue;
            marked += text.substr(end, one.position - end) + mark_;
            end = one.position;
        }
        return marked + text.substr(end);
    });
}

RenderedPrompt NameGuard::restored(const std::string& prompt) const {
    RenderedPrompt restored;
    std::size_t plain = prompt.find(mark_);
    std::size_t escaped = prompt.find(escaped_mark_);
    std::size_t begin = 0;
    while (std::min(plain, escaped) != std::string::npos) {
        std::size_t& next = plain < escaped ? plain : escaped;
        const std::string& mark = plain < escaped ? mark_ : escaped_mark_;
        restored.text.append(prompt, begin, next - begin);
        restored.barriers.push_back(restored.text.size());
        begin = next + mark.size();
        next = prompt.find(mark, begin);
    }
    restored.text.append(prompt, begin);
    return restored;
}

} // namespace etna::chat

#pragma once

#include "core/chat/chat_template.hpp"
#include "core/chat/control_names.hpp"
#include "core/jinja/value.hpp"

#include <set>
#include <string>
#include <string_view>

// Internal to core/chat: keeps the names of control tokens in a client's texts apart from those of the
// template.
namespace etna::chat {

/// Breaks names in the strings of one request by a private code point that occurs nowhere else in it, and
/// finds it again in the prompt. The code point passes through a template as a letter does, also escaped in
/// JSON or Python's repr().
class NameGuard {
public:
    /// Looks for names in the strings of a request for ChatTemplate::render(). Borrows the names and the
    /// request.
    NameGuard(const ControlNames& names, const jinja::Value& request, std::string_view template_text);

    /// Returns whether the request has no breaks.
    [[nodiscard]] bool is_idle() const { return spellings_.empty(); }
    /// Returns whether it has one of this spelling.
    [[nodiscard]] bool has(Spelling spelling) const { return spellings_.contains(spelling); }

    /// Returns the request with the breaks of the spellings up to `last`. Error: invalid_argument (the
    /// request holds every private code point).
    [[nodiscard]] Result<jinja::Value> broken(Spelling last) const;

    /// Removes the code point from a prompt; each of its positions becomes a barrier.
    [[nodiscard]] RenderedPrompt restored(const std::string& prompt) const;

private:
    const ControlNames* names_;
    const jinja::Value* request_;
    std::set<Spelling> spellings_;
    std::string mark_; ///< the code point in UTF-8; empty: all are used
    std::string escaped_mark_;
};

} // namespace etna::chat

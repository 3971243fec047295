#pragma once

#include <functional>
#include <span>
#include <string_view>

namespace etna::chat {

/// A template that ships with etna, for models without one.
struct BuiltinTemplate {
    std::string_view name; ///< for --chat-template
    std::string_view
        marker; ///< a token whose presence in the vocabulary suggests this template; may be empty
    std::string_view text;
};

std::span<const BuiltinTemplate> builtin_templates();

/// Null if no template has that name.
const BuiltinTemplate* find_builtin_template(std::string_view name);

/// Returns the template whose marker is in the vocabulary; chatml, the most common one, if none is.
const BuiltinTemplate& guess_builtin_template(const std::function<bool(std::string_view)>& has_token);

} // namespace etna::chat

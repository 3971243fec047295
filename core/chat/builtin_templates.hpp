#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace etna::chat {

/// A template that etna brings for models that carry none.
struct BuiltinTemplate {
    std::string_view name; ///< for --chat-template
    std::string_view
        marker; ///< a model whose vocabulary has this token was most likely trained with it; or empty
    std::string_view text;
};

std::span<const BuiltinTemplate> builtin_templates();

/// Null when there is none of that name.
const BuiltinTemplate* find_builtin_template(std::string_view name);

/// The one whose marker the vocabulary has; chatml, which is the most usual, where it has none.
const BuiltinTemplate& guess_builtin_template(const std::function<bool(std::string_view)>& has_token);

} // namespace etna::chat

#pragma once

#include "core/grammar/description.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Internal to core/generate: builders for small grammar descriptions that larger ones are composed of.
namespace etna::generate::pieces {

using grammar::Description;
using grammar::Notation;

inline Description literal(std::string_view text) {
    return {.notation = Notation::literal, .text = std::string(text)};
}
inline Description regex(std::string_view pattern) {
    return {.notation = Notation::regex, .text = std::string(pattern)};
}
inline Description space() {
    return {.notation = Notation::space};
}
inline Description sequence(std::vector<Description> parts) {
    return {.notation = Notation::sequence, .parts = std::move(parts)};
}
inline Description either(std::vector<Description> parts) {
    return parts.size() == 1 ? std::move(parts.front())
                             : Description{.notation = Notation::either, .parts = std::move(parts)};
}
inline Description repeated(Description part, uint32_t min = 0, uint32_t max = grammar::unbounded) {
    return {.notation = Notation::repeated, .parts = {std::move(part)}, .min = min, .max = max};
}
inline Description optional(Description part) {
    return repeated(std::move(part), 0, 1);
}
inline Description free_text(std::vector<std::string> without) {
    return {.notation = Notation::free_text, .choices = std::move(without)};
}
/// Up to 8 blanks, tabs and line ends.
inline Description blanks() {
    return regex("[ \\n\\r\\t]{0,8}");
}

} // namespace etna::generate::pieces

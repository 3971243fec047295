#pragma once

#include "core/grammar/schema/constraints.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace etna::grammar {

/// The notation of values that match a schema. In all forms except JSON the root is an object, and True,
/// False and None may replace JSON's words.
enum class Form : uint8_t {
    json,
    keywords,   ///< the root as Python's keyword arguments: a=1, b="x"; JSON within
    dictionary, ///< objects as {a:1,b:x}: names without quotes; strings between marks, without escapes
    tagged,     ///< the root's members in sequence, as Writing::member describes; JSON within them
};

/// The variable that follows a fixed text in a tagged member.
enum class TaggedSlot : uint8_t {
    none,
    name,
    kind,  ///< a word that distinguishes strings from other values
    value, ///< a literal string, without quotes and escapes, or JSON
};

struct TaggedPart {
    std::string text = {};
    TaggedSlot slot = TaggedSlot::none;
    bool operator==(const TaggedPart&) const = default;
};

struct Writing {
    Form form = Form::json;
    /// Texts that no string may contain, because a parser would take them for a mark.
    std::vector<std::string> not_in_strings = {};
    std::string string_mark = {};              ///< of Form::dictionary: before and after a string
    std::vector<TaggedPart> member = {};       ///< of Form::tagged
    bool close_is_optional = false;            ///< of Form::tagged: the last text, after the value
    std::vector<std::string> text_kinds = {};  ///< TaggedSlot::kind for strings
    std::vector<std::string> other_kinds = {}; ///< and for other values
    /// Of Form::tagged without a kind: the kinds as which a parser reads a member's text, by its name.
    /// json_string alone: always a string. Otherwise, and for unlisted members, a text that can be parsed as
    /// another value cannot be written as a string.
    std::vector<std::pair<std::string, JsonKinds>> read_as = {};
    JsonKinds others_read_as = json_any; ///< the same for members that are not listed there

    bool operator==(const Writing&) const = default;
};

} // namespace etna::grammar

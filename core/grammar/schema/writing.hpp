#pragma once

#include "core/grammar/schema/constraints.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace etna::grammar {

/// How values are written that fit a schema. In all forms but JSON the root is an object, and True, False and
/// None may stand for JSON's words.
enum class Form : uint8_t {
    json,
    keywords,   ///< the root as Python's keyword arguments: a=1, b="x"; JSON within
    dictionary, ///< objects as {a:1,b:x}: names without quotes; strings between marks, and without escapes
    tagged,     ///< the root's members one after the other, as Writing::member says; JSON within them
};

/// What stands in a tagged member after a fixed text.
enum class TaggedSlot : uint8_t {
    none,
    name,
    kind,  ///< a word that tells strings from other values
    value, ///< a string as it is, without quotes and escapes, or JSON
};

struct TaggedPart {
    std::string text = {};
    TaggedSlot slot = TaggedSlot::none;
    bool operator==(const TaggedPart&) const = default;
};

struct Writing {
    Form form = Form::json;
    /// Texts that stand in no string: a reader would take them for a mark.
    std::vector<std::string> not_in_strings = {};
    std::string string_mark = {};              ///< of Form::dictionary: before and behind a string
    std::vector<TaggedPart> member = {};       ///< of Form::tagged
    std::vector<std::string> text_kinds = {};  ///< TaggedSlot::kind of strings
    std::vector<std::string> other_kinds = {}; ///< and of all else
    /// Of Form::tagged without a kind: what a reader takes a member's text for, by its name. json_string
    /// alone: for a string, whatever it says. Otherwise, and for members that are not named, a text that can
    /// be read as another value is no string.
    std::vector<std::pair<std::string, JsonKinds>> read_as = {};
    JsonKinds others_read_as = json_any; ///< the same for members that are not named there

    bool operator==(const Writing&) const = default;
};

} // namespace etna::grammar

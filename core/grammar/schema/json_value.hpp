#pragma once

#include "core/base/result.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace etna::grammar {

struct JsonValue;

/// A template, because Value is still incomplete here.
template <class Value>
struct NamedValue {
    std::string name;
    Value value;
};
using JsonMember = NamedValue<JsonValue>;

/// A parsed JSON value, with the order of members and all digits of numbers.
struct JsonValue {
    enum class Kind : uint8_t { null, boolean, number, string, array, object };

    Kind kind = Kind::null;
    bool truth = false;    ///< of a boolean
    uint32_t id = 0;       ///< number in the text, in preorder
    std::string text = {}; ///< a string's value, or a number's digits
    std::vector<JsonValue> items = {};
    std::vector<JsonMember> members = {};
    std::vector<uint32_t> by_name = {}; ///< indices of members sorted by name, if there are many

    [[nodiscard]] bool is_object() const { return kind == Kind::object; }
    [[nodiscard]] bool is_string() const { return kind == Kind::string; }
    /// Returns a member of an object, or null.
    [[nodiscard]] const JsonValue* find(std::string_view name) const;
};

inline const JsonValue* JsonValue::find(std::string_view name) const {
    if (!by_name.empty()) {
        const auto found = std::lower_bound(
            by_name.begin(), by_name.end(), name,
            [this](uint32_t one, std::string_view expected) { return members[one].name < expected; });
        return found == by_name.end() || members[*found].name != name ? nullptr : &members[*found].value;
    }
    for (const JsonMember& member : members) {
        if (member.name == name)
            return &member.value;
    }
    return nullptr;
}

/// Maximum number of values in one text, and maximum nesting depth.
constexpr uint32_t json_values_max = 200'000;
constexpr std::size_t json_nesting_max = 200;

/// Parses a JSON text. Errors: invalid_argument (not JSON, a duplicate name in an object), unsupported (too
/// large, too deep).
Result<JsonValue> parse_json(std::string_view text);

} // namespace etna::grammar

#include "core/grammar/schema/formats.hpp"
#include "core/grammar/schema/json_schema.hpp"
#include "core/grammar/schema/keyword.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

/// Keywords of types, constants, numbers and strings. Source: JSON Schema draft 2020-12 validation, 6.1 to
/// 6.3 and 7; lark_keyword is an extension of etna.
namespace etna::grammar {
namespace {

struct NamedKinds {
    std::string_view name;
    JsonKinds kinds;
};

constexpr std::array<NamedKinds, 7> types = {{
    {"null", json_null},
    {"boolean", json_false | json_true},
    {"integer", json_integer},
    {"number", json_number_kinds},
    {"string", json_string},
    {"array", json_array},
    {"object", json_object},
}};

std::optional<JsonKinds> kinds_named(std::string_view name) {
    const auto found =
        std::find_if(types.begin(), types.end(), [&](const NamedKinds& known) { return known.name == name; });
    return found == types.end() ? std::nullopt : std::optional(found->kinds);
}

Error unknown_type(const Keyword& keyword, std::string_view name) {
    std::vector<std::string_view> names;
    for (const NamedKinds& known : types)
        names.push_back(known.name);
    return keyword.wrong(fmt::format("unknown type \"{}\"; the types are {}", name, fmt::join(names, ", ")));
}

Result<Choices> type(const Keyword& keyword) {
    std::vector<std::string> names;
    if (keyword.value.is_string()) {
        names = {keyword.value.text};
    } else {
        ETNA_TRY(names, keyword.strings());
    }
    JsonKinds kinds = 0;
    for (const std::string& name : names) {
        const auto known = kinds_named(name);
        if (!known)
            return unknown_type(keyword, name);
        kinds |= *known;
    }
    const JsonValue* const nullable = keyword.schema.find("nullable");
    if (nullable != nullptr && nullable->truth)
        kinds |= json_null;
    return Keyword::one(
        {.constraints = {.kinds = keyword.is_negated ? static_cast<JsonKinds>(~kinds) : kinds}});
}

Claim constant(const Keyword& keyword, const JsonValue& value) {
    return {.value = &value, .kind = Claim::Kind::constant, .is_negated = keyword.is_negated};
}

Result<Choices> one_constant(const Keyword& keyword) {
    return Keyword::one({.claims = {constant(keyword, keyword.value)}});
}

/// Puts all strings of an `enum` into one alternative, so that hundreds of them cost little.
Result<Choices> enumeration(const Keyword& keyword) {
    if (keyword.value.kind != JsonValue::Kind::array)
        return keyword.wrong("has to be a list of values");
    std::vector<std::string> strings;
    Claims others;
    for (const JsonValue& value : keyword.value.items) {
        if (value.is_string()) {
            strings.push_back(value.text);
        } else {
            others.push_back(constant(keyword, value));
        }
    }
    if (keyword.is_negated)
        return Keyword::one({.claims = others, .constraints = {.string = {.excluded = strings}}});
    Alternatives any;
    if (!strings.empty())
        any.push_back(Keyword::of(json_string, {.string = {.values = strings}}));
    for (const Claim& other : others)
        any.push_back({.claims = {other}});
    return Choices{std::move(any)};
}

/// Constrains values of `kinds`; negated: values of `kinds` that violate the constraint.
Result<Choices> constrained(const Keyword& keyword, JsonKinds kinds, Constraints constraints,
                            Constraints opposite) {
    if (keyword.is_negated)
        return Keyword::one(Keyword::of(kinds, std::move(opposite)));
    return Keyword::one({.constraints = std::move(constraints)});
}

bool is_true(const JsonValue* value) {
    return value != nullptr && value->kind == JsonValue::Kind::boolean && value->truth;
}

Result<Choices> bound(const Keyword& keyword, bool is_lower, bool is_excluded) {
    ETNA_TRY(const Decimal value, keyword.number());
    const auto from = [&](bool excluded) { return Constraints{.number = {.lower = Bound{value, excluded}}}; };
    const auto up_to = [&](bool excluded) {
        return Constraints{.number = {.upper = Bound{value, excluded}}};
    };
    if (is_lower)
        return constrained(keyword, json_number_kinds, from(is_excluded), up_to(!is_excluded));
    return constrained(keyword, json_number_kinds, up_to(is_excluded), from(!is_excluded));
}

Result<Choices> minimum(const Keyword& keyword) {
    return bound(keyword, true, is_true(keyword.schema.find("exclusiveMinimum")));
}
Result<Choices> maximum(const Keyword& keyword) {
    return bound(keyword, false, is_true(keyword.schema.find("exclusiveMaximum")));
}
Result<Choices> exclusive_minimum(const Keyword& keyword) {
    if (keyword.value.kind == JsonValue::Kind::boolean) // modifies `minimum`
        return keyword.no_claim();
    return bound(keyword, true, true);
}
Result<Choices> exclusive_maximum(const Keyword& keyword) {
    if (keyword.value.kind == JsonValue::Kind::boolean)
        return keyword.no_claim();
    return bound(keyword, false, true);
}

Result<Choices> multiple_of(const Keyword& keyword) {
    ETNA_TRY(const Decimal value, keyword.number());
    if (value.is_negative || value.is_zero())
        return keyword.wrong("has to be more than zero");
    if (keyword.is_negated)
        return keyword.not_enforced("numbers that are not a multiple cannot be enforced");
    return Keyword::one(
        {.constraints = {.number = {.divisors = {{.value = value, .schema = &keyword.schema}}}}});
}

/// Constrains a count from below or above; `of_range` makes the constraints.
template <class OfRange>
Result<Choices> counted(const Keyword& keyword, JsonKinds kinds, bool is_lower, const OfRange& of_range) {
    ETNA_TRY(const uint32_t count, keyword.count());
    if (is_lower) {
        if (keyword.is_negated && count == 0)
            return Keyword::never();
        return constrained(keyword, kinds, of_range({.min = count}), of_range({.max = count - 1}));
    }
    return constrained(keyword, kinds, of_range({.max = count}), of_range({.min = count + 1}));
}

Constraints of_length(CountRange range) {
    return {.string = {.length = range}};
}
Constraints of_items(CountRange range) {
    return {.array = {.count = range}};
}
Constraints of_members(CountRange range) {
    return {.object = {.count = range}};
}

Result<Choices> text(const Keyword& keyword, StringConstraints::Text::Kind kind) {
    ETNA_TRY(const std::string content, keyword.string());
    const auto with = [&](bool is_negated) {
        return Constraints{
            .string = {
                .texts = {
                    {.kind = kind, .text = content, .is_negated = is_negated, .schema = &keyword.schema}}}};
    };
    return constrained(keyword, json_string, with(false), with(true));
}

/// Numbers that are integers within a range; other values are unconstrained.
Result<Choices> integers(const Keyword& keyword, std::string_view min, std::string_view max) {
    ETNA_TRY(const Decimal first, decimal(min));
    ETNA_TRY(const Decimal last, decimal(max));
    if (!keyword.is_negated) {
        return Keyword::one(
            {.constraints = {.kinds = json_any & ~json_fraction,
                             .number = {.lower = Bound{first, false}, .upper = Bound{last, false}}}});
    }
    return Choices{{Keyword::of(json_fraction, {}),
                    Keyword::of(json_integer, {.number = {.upper = Bound{first, true}}}),
                    Keyword::of(json_integer, {.number = {.lower = Bound{last, true}}})}};
}

Result<Choices> format(const Keyword& keyword) {
    ETNA_TRY(const std::string name, keyword.string());
    if (const auto range = integers_of_format(name))
        return integers(keyword, range->first, range->second);
    if (is_annotation(name))
        return keyword.no_claim();
    return text(keyword, StringConstraints::Text::Kind::format);
}

} // namespace

std::span<const KnownKeyword> value_keywords() {
    static constexpr std::array<KnownKeyword, 17> keywords = {{
        {"type", type},
        {"const", one_constant},
        {"enum", enumeration},
        {"minimum", minimum},
        {"maximum", maximum},
        {"exclusiveMinimum", exclusive_minimum},
        {"exclusiveMaximum", exclusive_maximum},
        {"multipleOf", multiple_of},
        {"minLength", [](const Keyword& k) { return counted(k, json_string, true, of_length); }},
        {"maxLength", [](const Keyword& k) { return counted(k, json_string, false, of_length); }},
        {"minItems", [](const Keyword& k) { return counted(k, json_array, true, of_items); }},
        {"maxItems", [](const Keyword& k) { return counted(k, json_array, false, of_items); }},
        {"minProperties", [](const Keyword& k) { return counted(k, json_object, true, of_members); }},
        {"maxProperties", [](const Keyword& k) { return counted(k, json_object, false, of_members); }},
        {"pattern", [](const Keyword& k) { return text(k, StringConstraints::Text::Kind::pattern); }},
        {"format", format},
        {lark_keyword, [](const Keyword& k) { return text(k, StringConstraints::Text::Kind::lark); }},
    }};
    return keywords;
}

} // namespace etna::grammar

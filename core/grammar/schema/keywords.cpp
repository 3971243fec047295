#include "core/grammar/schema/keyword.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

/// Larger than any count in a text.
constexpr uint32_t count_max = 1'000'000'000;

KeywordReader reader_of(std::string_view name) {
    for (const auto keywords : {value_keywords(), object_keywords(), array_keywords(), logic_keywords()}) {
        for (const KnownKeyword& keyword : keywords) {
            if (keyword.name == name)
                return keyword.read;
        }
    }
    return nullptr;
}

Result<Choices> of_object_schema(const KeywordContext& context, const JsonValue& schema, bool is_negated) {
    Choices all;
    for (const JsonMember& member : schema.members) {
        const KeywordReader reader = reader_of(member.name);
        if (reader == nullptr)
            continue;
        ETNA_TRY(Choices some, reader({context, schema, member.name, member.value, is_negated}));
        all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    }
    if (!is_negated)
        return all;
    Alternatives any; // one keyword that does not hold is enough
    for (Alternatives& some : all)
        any.insert(any.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    return Choices{std::move(any)};
}

Result<Choices> of_schema(const KeywordContext& context, const JsonValue& schema, bool is_negated) {
    if (schema.is_object())
        return of_object_schema(context, schema, is_negated);
    if (schema.kind != JsonValue::Kind::boolean) {
        return invalid_argument(
            fmt::format("{}: a schema is an object, true or false", context.document.pointer(schema)));
    }
    return schema.truth != is_negated ? Choices{} : Keyword::never();
}

Alternative of_kinds(JsonKinds kinds) {
    return {.constraints = {.kinds = kinds}};
}

Alternative all_but(JsonKinds kinds) {
    return of_kinds(static_cast<JsonKinds>(~kinds));
}

Claim constant(const JsonValue& value, bool is_negated) {
    return {.value = &value, .kind = Claim::Kind::constant, .is_negated = is_negated};
}

Result<Choices> of_number(const Decimal& value, bool is_negated) {
    const Bound bound = {.value = value, .is_excluded = is_negated};
    if (!is_negated) {
        const JsonKinds kind = value.is_integer() ? json_integer : json_fraction;
        return Choices{{Keyword::of(kind, {.number = {.lower = bound, .upper = bound}})}};
    }
    return Choices{{all_but(json_number_kinds), Keyword::of(json_number_kinds, {.number = {.upper = bound}}),
                    Keyword::of(json_number_kinds, {.number = {.lower = bound}})}};
}

Choices of_string(const std::string& text, bool is_negated) {
    if (is_negated)
        return {{{.constraints = {.string = {.excluded = {text}}}}}};
    return {{Keyword::of(json_string, {.string = {.values = std::vector{text}}})}};
}

/// Alternatives for all counts except `count`.
template <class OfCount>
Alternatives of_other_count(uint32_t count, const OfCount& of_count) {
    Alternatives all = {of_count({.min = count + 1})};
    if (count > 0)
        all.push_back(of_count({.max = count - 1}));
    return all;
}

Result<Choices> of_array(const KeywordContext& context, const JsonValue& array, bool is_negated) {
    const auto count = static_cast<uint32_t>(array.items.size());
    if (!is_negated) {
        ArrayConstraints all = {.count = {.min = count, .max = count}, .items = {{}}};
        for (const JsonValue& item : array.items)
            all.items[0].first.push_back(constant(item, false));
        return Choices{{Keyword::of(json_array, {.array = std::move(all)})}};
    }
    if (count > negated_items_max) {
        return Error{ErrorKind::unsupported,
                     fmt::format("{}: a list of more than {} items cannot be excluded",
                                 context.document.pointer(array), negated_items_max),
                     "shorten it"};
    }
    Alternatives any = of_other_count(
        count, [](CountRange range) { return Keyword::of(json_array, {.array = {.count = range}}); });
    any.push_back(all_but(json_array));
    for (uint32_t i = 0; i < count; ++i) {
        ArrayConstraints other = {.count = {.min = i + 1}, .items = {{}}};
        other.items[0].first.resize(i);
        other.items[0].first.push_back(constant(array.items[i], true));
        any.push_back(Keyword::of(json_array, {.array = std::move(other)}));
    }
    return Choices{std::move(any)};
}

Choices of_object(const JsonValue& object, bool is_negated) {
    const auto count = static_cast<uint32_t>(object.members.size());
    if (!is_negated) {
        ObjectConstraints all = {.count = {.min = count, .max = count}};
        all.members.push_back({.others = Claim::nothing()});
        for (const JsonMember& member : object.members) {
            all.required.push_back(member.name);
            all.members[0].named.emplace_back(member.name, constant(member.value, false));
        }
        return {{Keyword::of(json_object, {.object = std::move(all)})}};
    }
    Alternatives any = of_other_count(
        count, [](CountRange range) { return Keyword::of(json_object, {.object = {.count = range}}); });
    any.push_back(all_but(json_object));
    for (const JsonMember& member : object.members) {
        any.push_back(Keyword::of(json_object, {.object = {.absent = {member.name}}}));
        ObjectConstraints other = {.required = {member.name}};
        other.members.push_back({.named = {{member.name, constant(member.value, true)}}});
        any.push_back(Keyword::of(json_object, {.object = std::move(other)}));
    }
    return {std::move(any)};
}

Result<Choices> of_constant(const KeywordContext& context, const JsonValue& value, bool is_negated) {
    const auto of_kind = [is_negated](JsonKinds kind) {
        return Choices{{is_negated ? all_but(kind) : of_kinds(kind)}};
    };
    switch (value.kind) {
    case JsonValue::Kind::null:
        return of_kind(json_null);
    case JsonValue::Kind::boolean:
        return of_kind(value.truth ? json_true : json_false);
    case JsonValue::Kind::number: {
        auto number = decimal(value.text);
        if (!number)
            return std::move(number).error().while_doing(context.document.pointer(value));
        return of_number(*number, is_negated);
    }
    case JsonValue::Kind::string:
        return of_string(value.text, is_negated);
    case JsonValue::Kind::array:
        return of_array(context, value, is_negated);
    case JsonValue::Kind::object:
        return of_object(value, is_negated);
    }
    return Choices{};
}

} // namespace

Error Keyword::wrong(std::string_view what) const {
    return context.document.error(ErrorKind::invalid_argument, schema, name, what, "see json-schema.org");
}

Error Keyword::unsupported(std::string_view what) const {
    return context.document.error(ErrorKind::unsupported, schema, name, what,
                                  "leave it out, or have such keywords left out (--lenient-schema)");
}

Result<Choices> Keyword::not_enforced(std::string_view what) const {
    if (context.dropped == nullptr)
        return unsupported(what);
    context.dropped->add(schema, name);
    return is_negated ? one({}) : Choices{}; // taken to hold either way, which only widens the set
}

bool Keyword::is_first_of(std::span<const std::string_view> group) const {
    const auto first = std::find_if(group.begin(), group.end(),
                                    [this](std::string_view known) { return schema.find(known) != nullptr; });
    return first != group.end() && *first == name;
}

bool evaluates_in_place(const JsonValue& schema, std::string_view also) {
    constexpr std::array<std::string_view, 10> in_place = {
        "$ref", "$dynamicRef", "$recursiveRef", "allOf",           "anyOf", "oneOf",
        "not",  "if",          "dependencies",  "dependentSchemas"};
    return schema.find(also) != nullptr ||
           std::any_of(in_place.begin(), in_place.end(),
                       [&](std::string_view name) { return schema.find(name) != nullptr; });
}

Alternative Keyword::all(Claims claims) {
    return {.claims = std::move(claims)};
}

Result<Claims> Keyword::claims() const {
    if (value.kind != JsonValue::Kind::array || value.items.empty())
        return wrong("has to be a list of schemas");
    Claims all;
    for (const JsonValue& item : value.items)
        all.push_back(claim(item));
    return all;
}

Result<uint32_t> Keyword::count() const {
    constexpr std::string_view expected = "has to be a number from 0 on, without a fraction";
    if (value.kind != JsonValue::Kind::number)
        return wrong(expected);
    ETNA_TRY(const Decimal digits, number());
    if (digits.is_negative || !digits.is_integer())
        return wrong(expected);
    constexpr std::size_t surely_small = 9; // digits
    return digits.integer.size() > surely_small ? count_max
                                                : static_cast<uint32_t>(std::stoul(digits.integer));
}

Result<Decimal> Keyword::number() const {
    if (value.kind != JsonValue::Kind::number)
        return wrong("has to be a number");
    auto digits = decimal(value.text);
    if (!digits)
        return unsupported(digits.error().message);
    return digits;
}

Result<std::string> Keyword::string() const {
    if (!value.is_string())
        return wrong("has to be a string");
    return value.text;
}

Result<std::vector<std::string>> Keyword::strings() const {
    std::vector<std::string> all;
    const bool is_list = value.kind == JsonValue::Kind::array &&
                         std::all_of(value.items.begin(), value.items.end(),
                                     [](const JsonValue& item) { return item.is_string(); });
    if (!is_list)
        return wrong("has to be a list of strings");
    all.reserve(value.items.size());
    for (const JsonValue& item : value.items)
        all.push_back(item.text);
    return all;
}

Result<Choices> choices_of(const KeywordContext& context, const Claim& claim) {
    if (claim.value == nullptr)
        return claim.is_negated ? Keyword::never() : Choices{};
    if (claim.kind == Claim::Kind::constant)
        return of_constant(context, *claim.value, claim.is_negated);
    return of_schema(context, *claim.value, claim.is_negated);
}

} // namespace etna::grammar

#include "core/grammar/schema/keyword.hpp"

#include <array>

/// Keywords of items. Source: JSON Schema draft 2020-12 core, 10.3.1 and 11; draft-07 validation, 6.4.
namespace etna::grammar {
namespace {

bool is_list(const JsonValue* value) {
    return value != nullptr && value->kind == JsonValue::Kind::array;
}

/// Schemas by position, and for all later positions; null if not given.
struct Positions {
    const JsonValue* first = nullptr; ///< a list
    const JsonValue* rest = nullptr;
};

Positions positions_of(const JsonValue& schema) {
    const JsonValue* const items = schema.find("items");
    const JsonValue* const unevaluated =
        evaluates_in_place(schema, "contains") ? nullptr : schema.find("unevaluatedItems");
    if (is_list(items)) { // as before 2020-12
        const JsonValue* const additional = schema.find("additionalItems");
        return {.first = items, .rest = additional != nullptr ? additional : unevaluated};
    }
    return {.first = schema.find("prefixItems"), .rest = items != nullptr ? items : unevaluated};
}

/// Whether a schema has lists under both names, of which every version of JSON Schema knows only one as a
/// list. In draft-07 the other one has no meaning.
bool has_two_lists(const Keyword& keyword) {
    return is_list(keyword.schema.find("items")) && keyword.schema.find("prefixItems") != nullptr &&
           keyword.context.document.dialect(keyword.schema) != Dialect::draft_07;
}

Result<Choices> items(const Keyword& keyword) {
    constexpr std::array<std::string_view, 4> group = {"prefixItems", "items", "additionalItems",
                                                       "unevaluatedItems"};
    if (!keyword.is_first_of(group))
        return keyword.no_claim();
    if (has_two_lists(keyword))
        return keyword.not_enforced("is used with a list of `items`, its name before 2020-12");
    const Positions positions = positions_of(keyword.schema);
    if (positions.first != nullptr && !is_list(positions.first))
        return keyword.wrong("has to be a list of schemas");
    const std::size_t first_count = positions.first == nullptr ? 0 : positions.first->items.size();
    if (!keyword.is_negated) {
        ArrayConstraints::Items all = {.rest = keyword.claim_or_any(positions.rest)};
        for (std::size_t i = 0; i < first_count; ++i)
            all.first.push_back(keyword.claim(positions.first->items[i]));
        return Keyword::one({.constraints = {.array = {.items = {std::move(all)}}}});
    }
    if (first_count > negated_items_max)
        return keyword.unsupported("has too many items to be negated");
    Alternatives any; // one item that does not match is enough
    for (std::size_t i = 0; i < first_count; ++i) {
        ArrayConstraints::Items other;
        other.first.resize(i);
        other.first.push_back(keyword.claim(positions.first->items[i]));
        any.push_back(Keyword::of(json_array, {.array = {.count = {.min = static_cast<uint32_t>(i + 1)},
                                                         .items = {std::move(other)}}}));
    }
    if (positions.rest != nullptr) {
        any.push_back(
            Keyword::of(json_array, {.array = {.contained = {{.claim = keyword.claim(*positions.rest),
                                                              .from = static_cast<uint32_t>(first_count),
                                                              .count = {.min = 1}}}}}));
    }
    return Choices{std::move(any)};
}

Result<uint32_t> count_of(const Keyword& keyword, std::string_view name, uint32_t otherwise) {
    const JsonValue* const value = keyword.schema.find(name);
    if (value == nullptr || keyword.context.document.dialect(keyword.schema) == Dialect::draft_07)
        return otherwise;
    return Keyword{keyword.context, keyword.schema, name, *value, keyword.is_negated}.count();
}

Result<Choices> contains(const Keyword& keyword) {
    ETNA_TRY(const uint32_t min, count_of(keyword, "minContains", 1));
    ETNA_TRY(const uint32_t max, count_of(keyword, "maxContains", unbounded));
    const auto of_count = [&](CountRange range) {
        return Constraints{.array = {.contained = {{.claim = {.value = &keyword.value}, .count = range}}}};
    };
    if (!keyword.is_negated) {
        if (min > max)
            return Keyword::one({.constraints = {.kinds = json_any & ~json_array}});
        return Keyword::one({.constraints = of_count({.min = min, .max = max})});
    }
    Alternatives any;
    if (min > 0)
        any.push_back(Keyword::of(json_array, of_count({.max = min - 1})));
    if (max != unbounded)
        any.push_back(Keyword::of(json_array, of_count({.min = max + 1})));
    return Choices{std::move(any)};
}

Result<Choices> unique_items(const Keyword& keyword) {
    if (!keyword.value.truth)
        return keyword.no_claim();
    if (keyword.is_negated)
        return keyword.not_enforced("equal items cannot be required");
    return Keyword::one({.constraints = {.array = {.unique = &keyword.schema}}});
}

/// The items that no adjacent keyword evaluates: those after the positional ones, as for `items`.
Result<Choices> unevaluated_items(const Keyword& keyword) {
    const JsonValue* const items_next_to = keyword.schema.find("items");
    if (items_next_to != nullptr && !is_list(items_next_to)) // evaluates all items
        return keyword.no_claim();
    if (evaluates_in_place(keyword.schema, "contains"))
        return keyword.not_enforced("cannot be enforced next to keywords that evaluate items too");
    return items(keyword);
}

} // namespace

std::span<const KnownKeyword> array_keywords() {
    static constexpr std::array<KnownKeyword, 6> keywords = {{
        {"prefixItems", items},
        {"items", items},
        {"additionalItems", items},
        {"unevaluatedItems", unevaluated_items},
        {"contains", contains},
        {"uniqueItems", unique_items},
    }};
    return keywords;
}

} // namespace etna::grammar

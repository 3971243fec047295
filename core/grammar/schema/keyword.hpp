#pragma once

#include "core/grammar/schema/keywords.hpp"

#include <span>
#include <string_view>

namespace etna::grammar {

/// Maximum items of a list that another list must differ from: each adds an alternative that names all items
/// before it.
constexpr std::size_t negated_items_max = 500;

/// One keyword in its schema, to be expanded, possibly negated.
struct Keyword {
    const KeywordContext& context;
    const JsonValue& schema;
    std::string_view name;
    const JsonValue& value;
    bool is_negated;

    [[nodiscard]] Error wrong(std::string_view what) const;
    [[nodiscard]] Error unsupported(std::string_view what) const;
    /// unsupported(); if dropping keywords is allowed, the keyword is recorded as dropped and taken to hold,
    /// even if negated.
    [[nodiscard]] Result<Choices> not_enforced(std::string_view what) const;

    /// No claim; negated: never holds.
    [[nodiscard]] Choices no_claim() const { return is_negated ? never() : Choices{}; }
    [[nodiscard]] static Choices never() { return {Alternatives{}}; }

    /// The claim that a value matches a schema; negated: that it does not.
    [[nodiscard]] Claim claim(const JsonValue& sub_schema) const {
        return {.value = &sub_schema, .is_negated = is_negated};
    }
    [[nodiscard]] Claim claim_or_any(const JsonValue* sub_schema) const {
        return sub_schema == nullptr ? Claim{} : claim(*sub_schema);
    }
    /// Whether it is the first keyword of the group in its schema; the group is read together.
    [[nodiscard]] bool is_first_of(std::span<const std::string_view> group) const;
    /// The keyword's value as a list of schemas. Errors: invalid_argument (it is not one).
    [[nodiscard]] Result<Claims> claims() const;
    /// Its value as a count. Errors: invalid_argument (it is not one).
    [[nodiscard]] Result<uint32_t> count() const;
    [[nodiscard]] Result<Decimal> number() const;
    [[nodiscard]] Result<std::string> string() const;
    [[nodiscard]] Result<std::vector<std::string>> strings() const;
    /// The values of `kinds` that satisfy the constraints.
    [[nodiscard]] static Alternative of(JsonKinds kinds, Constraints constraints) {
        constraints.kinds = kinds;
        return {.constraints = std::move(constraints)};
    }
    /// The conjunction of the claims.
    static Alternative all(Claims claims);
    static Choices one(Alternative alternative) { return {Alternatives{std::move(alternative)}}; }
};

/// Whether a schema has keywords that apply schemas to the same value, so that the members or items that
/// those evaluate count as evaluated; `also` is one more such keyword.
bool evaluates_in_place(const JsonValue& schema, std::string_view also);

using KeywordReader = Result<Choices> (*)(const Keyword&);

struct KnownKeyword {
    std::string_view name;
    KeywordReader read;
};

/// The keywords of JSON Schema that constrain values. Static.
std::span<const KnownKeyword> object_keywords();
std::span<const KnownKeyword> array_keywords();
std::span<const KnownKeyword> value_keywords();
std::span<const KnownKeyword> logic_keywords();

} // namespace etna::grammar

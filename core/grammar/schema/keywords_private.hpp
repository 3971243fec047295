#pragma once

#include "core/grammar/schema/keywords.hpp"

#include <span>
#include <string_view>

namespace etna::grammar {

/// Items of a list that some other list has to differ from: each is a way to differ, and names all before it.
constexpr std::size_t negated_items_max = 500;

/// One keyword in its schema, asked what it says, or what it says that does not hold.
struct Keyword {
    const KeywordContext& context;
    const JsonValue& schema;
    std::string_view name;
    const JsonValue& value;
    bool is_negated;

    [[nodiscard]] Error wrong(std::string_view what) const;
    [[nodiscard]] Error unsupported(std::string_view what) const;
    /// unsupported(); where that is allowed, it is taken to hold, also if it is negated.
    [[nodiscard]] Result<Choices> not_enforced(std::string_view what) const;

    /// No claim: holds always.
    [[nodiscard]] Choices no_claim() const { return is_negated ? never() : Choices{}; }
    [[nodiscard]] static Choices never() { return {Alternatives{}}; }

    /// Claims that a schema is kept to, or not.
    [[nodiscard]] Claim claim(const JsonValue& sub_schema) const {
        return {.value = &sub_schema, .is_negated = is_negated};
    }
    [[nodiscard]] Claim claim_or_any(const JsonValue* sub_schema) const {
        return sub_schema == nullptr ? Claim{} : claim(*sub_schema);
    }
    /// Whether it is the first that its schema has of keywords that are read together.
    [[nodiscard]] bool is_first_of(std::span<const std::string_view> group) const;
    /// The keyword's value as a list of schemas. Errors: invalid_argument (it is none).
    [[nodiscard]] Result<Claims> claims() const;
    /// Its value as a count. Errors: invalid_argument (it is none).
    [[nodiscard]] Result<uint32_t> count() const;
    [[nodiscard]] Result<Decimal> number() const;
    [[nodiscard]] Result<std::string> string() const;
    [[nodiscard]] Result<std::vector<std::string>> strings() const;
    /// Of all values of `kinds`, those with the constraints.
    [[nodiscard]] static Alternative of(JsonKinds kinds, Constraints constraints) {
        constraints.kinds = kinds;
        return {.constraints = std::move(constraints)};
    }
    /// All of the claims at once.
    static Alternative all(Claims claims);
    static Choices one(Alternative alternative) { return {Alternatives{std::move(alternative)}}; }
};

/// Whether a schema has keywords whose schemas are about the same value, so that what they look at counts as
/// evaluated; `also` is one more of them.
bool evaluates_elsewhere(const JsonValue& schema, std::string_view also);

using KeywordReader = Result<Choices> (*)(const Keyword&);

struct KnownKeyword {
    std::string_view name;
    KeywordReader read;
};

/// The keywords of JSON Schema that say something. Static.
std::span<const KnownKeyword> object_keywords();
std::span<const KnownKeyword> array_keywords();
std::span<const KnownKeyword> value_keywords();
std::span<const KnownKeyword> logic_keywords();

} // namespace etna::grammar

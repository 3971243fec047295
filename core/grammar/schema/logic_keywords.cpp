#include "core/grammar/schema/keyword.hpp"

#include <array>

/// Keywords that combine schemas. Source: JSON Schema draft 2020-12 core, 8.2.3 and 10.2.
namespace etna::grammar {
namespace {

Alternatives any_of_them(const Claims& claims) {
    Alternatives any;
    for (const Claim& claim : claims)
        any.push_back(Keyword::all({claim}));
    return any;
}

Result<Choices> all_of(const Keyword& keyword) {
    ETNA_TRY(Claims claims, keyword.claims());
    return keyword.is_negated ? Choices{any_of_them(claims)} : Keyword::one(Keyword::all(std::move(claims)));
}

Result<Choices> any_of(const Keyword& keyword) {
    ETNA_TRY(Claims claims, keyword.claims());
    return keyword.is_negated ? Keyword::one(Keyword::all(std::move(claims))) : Choices{any_of_them(claims)};
}

Result<Choices> not_it(const Keyword& keyword) {
    return Keyword::one(Keyword::all({keyword.claim(keyword.value).negated()}));
}

/// Maximum number of schemas in `oneOf`, and in a negated one: the cost of both is quadratic.
constexpr std::size_t one_of_max = 1000;
constexpr std::size_t negated_one_of_max = 200;

/// One of the claims and none of the others; negations are omitted for pairs that cannot hold together.
Alternatives exactly_one(const Keyword& keyword, const Claims& claims) {
    Alternatives any;
    for (const Claim& claim : claims)
        any.push_back(Keyword::all({claim}));
    for (std::size_t one = 0; one < claims.size(); ++one) {
        for (std::size_t other = one + 1; other < claims.size(); ++other) {
            if (keyword.context.is_impossible({claims[one], claims[other]}))
                continue;
            any[one].claims.push_back(claims[other].negated());
            any[other].claims.push_back(claims[one].negated());
        }
    }
    return any;
}

Result<Choices> one_of(const Keyword& keyword) {
    ETNA_TRY(const Claims claims, keyword.claims());
    if (claims.size() > (keyword.is_negated ? negated_one_of_max : one_of_max))
        return keyword.unsupported("has too many schemas to exclude from each other");
    if (!keyword.is_negated)
        return Choices{exactly_one(keyword, claims)};
    Alternatives any = {Keyword::all(claims)}; // none of them, or two
    for (std::size_t one = 0; one < claims.size(); ++one) {
        for (std::size_t other = one + 1; other < claims.size(); ++other)
            any.push_back(Keyword::all({claims[one].negated(), claims[other].negated()}));
    }
    return Choices{std::move(any)};
}

Result<Choices> condition(const Keyword& keyword) {
    const JsonValue* const then = keyword.schema.find("then");
    const JsonValue* const otherwise = keyword.schema.find("else");
    if (then == nullptr && otherwise == nullptr)
        return keyword.no_claim();
    const Claim holds = {.value = &keyword.value};
    const auto branch = [&](const Claim& condition, const JsonValue* schema) {
        if (schema == nullptr && keyword.is_negated)
            return Alternatives{};
        return Alternatives{Keyword::all({condition, keyword.claim_or_any(schema)})};
    };
    Alternatives any = branch(holds, then);
    const Alternatives others = branch(holds.negated(), otherwise);
    any.insert(any.end(), others.begin(), others.end());
    return Choices{std::move(any)};
}

Result<Choices> reference(const Keyword& keyword) {
    ETNA_TRY(const std::string uri, keyword.string());
    ETNA_TRY(const JsonValue* const target, keyword.context.document.resolve(keyword.schema, uri));
    return Keyword::one(Keyword::all({keyword.claim(*target)}));
}

Result<Choices> dynamic_reference(const Keyword& keyword) {
    return keyword.not_enforced("references that depend on the path to them cannot be enforced");
}

/// Keywords of draft-03.
Result<Choices> outdated(const Keyword& keyword) {
    return keyword.not_enforced("is a keyword of an old draft and not supported");
}

Result<Choices> dialect(const Keyword& keyword) {
    ETNA_TRY(const std::string uri, keyword.string());
    constexpr std::array<std::string_view, 2> prefixes = {"http://json-schema.org/",
                                                          "https://json-schema.org/"};
    for (const std::string_view prefix : prefixes) {
        if (uri.compare(0, prefix.size(), prefix) == 0)
            return keyword.no_claim();
    }
    return keyword.not_enforced(uri + " is not supported");
}

} // namespace

std::span<const KnownKeyword> logic_keywords() {
    static constexpr std::array<KnownKeyword, 12> keywords = {{
        {"allOf", all_of},
        {"anyOf", any_of},
        {"oneOf", one_of},
        {"not", not_it},
        {"if", condition},
        {"$ref", reference},
        {"$dynamicRef", dynamic_reference},
        {"$recursiveRef", dynamic_reference},
        {"$schema", dialect},
        {"extends", outdated},
        {"disallow", outdated},
        {"divisibleBy", outdated},
    }};
    return keywords;
}

} // namespace etna::grammar

#include "core/grammar/schema/keyword.hpp"

#include <array>

/// Keywords of members. Source: JSON Schema draft 2020-12 core, 10.2.2 and 10.3.2, and validation, 6.5;
/// draft-07 validation, 6.5.
namespace etna::grammar {
namespace {

using Named = ObjectConstraints::Named;

Choices of_objects(ObjectConstraints constraints) {
    return Keyword::one({.constraints = {.object = std::move(constraints)}});
}

Alternative some_objects(ObjectConstraints constraints) {
    return Keyword::of(json_object, {.object = std::move(constraints)});
}

Result<Choices> required(const Keyword& keyword) {
    if (keyword.value.kind == JsonValue::Kind::boolean) // draft-03: on a single member
        return keyword.not_enforced("has to be a list of names");
    ETNA_TRY(std::vector<std::string> names, keyword.strings());
    if (!keyword.is_negated)
        return of_objects({.required = std::move(names)});
    Alternatives any;
    for (std::string& name : names)
        any.push_back(some_objects({.absent = {std::move(name)}}));
    return Choices{std::move(any)};
}

/// Claims by name or by pattern. Errors: invalid_argument (not an object).
Result<std::vector<Named>> named_claims(const Keyword& keyword, std::string_view name) {
    const JsonValue* const schemas = keyword.schema.find(name);
    std::vector<Named> all;
    if (schemas == nullptr)
        return all;
    if (!schemas->is_object())
        return keyword.context.document.error(ErrorKind::invalid_argument, keyword.schema, name,
                                              "has to be an object of schemas", "");
    for (const JsonMember& member : schemas->members)
        all.emplace_back(member.name, keyword.claim(member.value));
    return all;
}

const JsonValue* schema_of_others(const JsonValue& schema) {
    const JsonValue* const additional = schema.find("additionalProperties");
    if (additional != nullptr || evaluates_in_place(schema, "additionalProperties"))
        return additional;
    return schema.find("unevaluatedProperties");
}

bool is_always_true(const JsonValue* schema) {
    return schema == nullptr || (schema->kind == JsonValue::Kind::boolean && schema->truth) ||
           (schema->is_object() && schema->members.empty());
}

Result<Choices> members(const Keyword& keyword) {
    constexpr std::array<std::string_view, 4> group = {"properties", "patternProperties",
                                                       "additionalProperties", "unevaluatedProperties"};
    if (!keyword.is_first_of(group))
        return keyword.no_claim();
    ETNA_TRY(std::vector<Named> named, named_claims(keyword, "properties"));
    ETNA_TRY(std::vector<Named> patterns, named_claims(keyword, "patternProperties"));
    const JsonValue* const others = schema_of_others(keyword.schema);
    if (!keyword.is_negated) {
        ObjectConstraints all;
        all.members.push_back({.named = std::move(named),
                               .patterns = std::move(patterns),
                               .others = keyword.claim_or_any(others),
                               .schema = &keyword.schema});
        return of_objects(std::move(all));
    }
    if (!patterns.empty() || !is_always_true(others))
        return keyword.not_enforced("cannot be negated, which `not`, `oneOf` or `if` requires here");
    Alternatives any; // one member that does not match is enough
    for (Named& one : named) {
        ObjectConstraints other = {.required = {one.first}};
        other.members.push_back({.named = {std::move(one)}});
        any.push_back(some_objects(std::move(other)));
    }
    return Choices{std::move(any)};
}

Result<Choices> unevaluated_properties(const Keyword& keyword) {
    if (keyword.schema.find("additionalProperties") != nullptr) // evaluates all members
        return keyword.no_claim();
    if (evaluates_in_place(keyword.schema, "additionalProperties"))
        return keyword.not_enforced("cannot be enforced next to keywords that evaluate members too");
    return members(keyword);
}

Result<Choices> names(const Keyword& keyword) {
    if (keyword.is_negated)
        return keyword.not_enforced("cannot be negated, which `not`, `oneOf` or `if` requires here");
    return of_objects({.names = {keyword.claim(keyword.value)}});
}

/// Requires `dependent` of objects with the member; values without it, including all other kinds, are
/// unconstrained.
void add_dependency(const Keyword& keyword, const std::string& name, Alternative dependent, Choices& all) {
    dependent.constraints.kinds = json_object;
    dependent.constraints.object.required.push_back(name);
    if (keyword.is_negated) {
        all.push_back({std::move(dependent)});
    } else {
        all.push_back({{.constraints = {.object = {.absent = {name}}}}, std::move(dependent)});
    }
}

Result<Choices> dependent_required(const Keyword& keyword) {
    if (!keyword.value.is_object())
        return keyword.wrong("has to be an object of lists of names");
    Choices all = keyword.no_claim();
    for (const JsonMember& member : keyword.value.members) {
        const Keyword list = {keyword.context, keyword.schema, keyword.name, member.value,
                              keyword.is_negated};
        ETNA_TRY(const std::vector<std::string> others, list.strings());
        if (!keyword.is_negated) {
            add_dependency(keyword, member.name, {.constraints = {.object = {.required = others}}}, all);
            continue;
        }
        for (const std::string& other : others)
            add_dependency(keyword, member.name, {.constraints = {.object = {.absent = {other}}}}, all);
    }
    return all;
}

Result<Choices> dependent_schemas(const Keyword& keyword) {
    if (!keyword.value.is_object())
        return keyword.wrong("has to be an object of schemas");
    Choices all = keyword.no_claim();
    for (const JsonMember& member : keyword.value.members)
        add_dependency(keyword, member.name, {.claims = {keyword.claim(member.value)}}, all);
    return all;
}

/// Draft-07: both of the above in one keyword.
Result<Choices> dependencies(const Keyword& keyword) {
    if (!keyword.value.is_object())
        return keyword.wrong("has to be an object of schemas or lists of names");
    JsonValue lists = {.kind = JsonValue::Kind::object, .id = keyword.value.id};
    Choices all = keyword.no_claim();
    for (const JsonMember& member : keyword.value.members) {
        if (member.value.kind == JsonValue::Kind::array) {
            lists.members.push_back(member);
        } else {
            add_dependency(keyword, member.name, {.claims = {keyword.claim(member.value)}}, all);
        }
    }
    const Keyword of_lists = {keyword.context, keyword.schema, keyword.name, lists, keyword.is_negated};
    ETNA_TRY(Choices more, dependent_required(of_lists));
    all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    return all;
}

} // namespace

std::span<const KnownKeyword> object_keywords() {
    static constexpr std::array<KnownKeyword, 9> keywords = {{
        {"required", required},
        {"properties", members},
        {"patternProperties", members},
        {"additionalProperties", members},
        {"unevaluatedProperties", unevaluated_properties},
        {"propertyNames", names},
        {"dependentRequired", dependent_required},
        {"dependentSchemas", dependent_schemas},
        {"dependencies", dependencies},
    }};
    return keywords;
}

} // namespace etna::grammar

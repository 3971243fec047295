#pragma once

#include "core/grammar/language.hpp"
#include "core/grammar/schema/constraints.hpp"
#include "core/grammar/schema/document.hpp"
#include "core/grammar/schema/strings.hpp"

#include <functional>

namespace etna::grammar {

/// What arrays and objects are made with.
struct ContainerContext {
    Language& language;
    const SchemaDocument& document;
    JsonStrings& strings;
    /// White space behind brackets, commas and colons, and before closing brackets.
    Expression space;
    Expression space_after_colon;
    /// The values that keep to all claims, as a rule.
    std::function<Expression(const Claims&)> value_of;
    /// The strings, without quotes, that keep to all claims.
    std::function<Result<Automaton>(const Claims&)> names_of;
    bool is_lenient;
};

/// Arrays that keep to the constraints. Errors: unsupported (cannot be enforced; by pointer).
Result<Expression> array_expression(const ContainerContext& context, const ArrayConstraints& constraints);

/// Objects that keep to the constraints: first the members that have a name in the schema, in its order, then
/// all others. Errors: as array_expression(), and those of patterns.
Result<Expression> object_expression(const ContainerContext& context, const ObjectConstraints& constraints);

/// `content` between brackets, with white space on both sides.
Expression bracketed(const ContainerContext& context, char open, Expression content, char close);

} // namespace etna::grammar

#pragma once

#include "core/grammar/language.hpp"
#include "core/grammar/schema/constraints.hpp"
#include "core/grammar/schema/document.hpp"
#include "core/grammar/schema/strings.hpp"

#include <functional>
#include <optional>
#include <string>

namespace etna::grammar {

/// A member's name as it stands between quotes.
struct MemberName {
    Expression text;
    const std::string* only = nullptr; ///< where it is one name alone
};

/// How objects are written.
struct ObjectForm {
    Expression open;
    Expression comma; ///< between members
    Expression close;
    /// A member whose value keeps to all claims.
    std::function<Result<Expression>(const MemberName&, const Claims&)> member;
    std::optional<Automaton> names = {}; ///< that can be written; all where empty
    bool has_others = true;              ///< names that a schema does not give can be written, too
};

/// What arrays and objects are made with.
struct ContainerContext {
    Language& language;
    const SchemaDocument& document;
    SchemaStrings& strings;
    /// White space behind brackets and commas, and before closing brackets.
    Expression space;
    /// The values that keep to all claims, as a rule.
    std::function<Expression(const Claims&)> value_of;
    /// The same without rules, each value in one way; none where some are arrays or objects, or strings of a
    /// grammar, or may be written in several ways.
    std::function<Result<std::optional<Expression>>(const Claims&)> scalars_of;
    /// The strings, without quotes, that keep to all claims.
    std::function<Result<Automaton>(const Claims&)> names_of;
    DroppedKeywords* dropped; ///< as KeywordContext::dropped
};

/// Arrays that keep to the constraints. Errors: unsupported (cannot be enforced; by pointer).
Result<Expression> array_expression(const ContainerContext& context, const ArrayConstraints& constraints);

/// Objects that keep to the constraints: first the members that have a name in the schema, in its order, then
/// all others. Errors: as array_expression(), and those of patterns and of the form.
Result<Expression> object_expression(const ContainerContext& context, const ObjectForm& form,
                                     const ObjectConstraints& constraints);

} // namespace etna::grammar

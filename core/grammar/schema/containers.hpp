#pragma once

#include "core/grammar/language.hpp"
#include "core/grammar/schema/constraints.hpp"
#include "core/grammar/schema/document.hpp"
#include "core/grammar/schema/strings.hpp"

#include <functional>
#include <optional>
#include <string>

namespace etna::grammar {

/// A member's name, as written between quotes.
struct MemberName {
    Expression text;
    const std::string* only = nullptr; ///< set if it is a single name
};

/// The notation of objects.
struct ObjectForm {
    Expression open;
    Expression comma; ///< between members
    Expression end;   ///< after the last member; an object without members has none
    Expression close;
    /// A member whose value satisfies all claims.
    std::function<Result<Expression>(const MemberName&, const Claims&)> member;
    std::optional<Automaton> names = {}; ///< that can be written; empty: all
    bool has_others = true;              ///< names that the schema does not list can be written too
};

/// The context for compiling arrays and objects.
struct ContainerContext {
    Language& language;
    const SchemaDocument& document;
    SchemaStrings& strings;
    /// White space after brackets and commas, and before closing brackets.
    Expression space;
    /// The values that satisfy all claims, as a rule.
    std::function<Expression(const Claims&)> value_of;
    /// The same without rules, each value in one notation; empty if some are arrays or objects, or strings of
    /// a grammar, or have several notations.
    std::function<Result<std::optional<Expression>>(const Claims&)> scalars_of;
    /// The strings, without quotes, that satisfy all claims.
    std::function<Result<Automaton>(const Claims&)> names_of;
    DroppedKeywords* dropped; ///< as KeywordContext::dropped
};

/// Arrays that satisfy the constraints. Errors: unsupported (cannot be enforced; with JSON pointer).
Result<Expression> array_expression(const ContainerContext& context, const ArrayConstraints& constraints);

/// Objects that satisfy the constraints: first the members that the schema names, in its order, then all
/// others. Errors: as array_expression(), and those of patterns and of the form.
Result<Expression> object_expression(const ContainerContext& context, const ObjectForm& form,
                                     const ObjectConstraints& constraints);

} // namespace etna::grammar

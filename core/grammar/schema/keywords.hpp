#pragma once

#include "core/grammar/schema/constraints.hpp"
#include "core/grammar/schema/document.hpp"

#include <functional>
#include <vector>

namespace etna::grammar {

/// One alternative: all of these claims and constraints together.
struct Alternative {
    Claims claims = {};
    Constraints constraints = {};
};

/// A disjunction; empty: never holds.
using Alternatives = std::vector<Alternative>;

/// A conjunction of disjunctions.
using Choices = std::vector<Alternatives>;

struct KeywordContext {
    const SchemaDocument& document;
    /// Receives keywords that cannot be enforced; null: they are errors.
    DroppedKeywords* dropped = nullptr;
    /// Whether no value can satisfy all claims; false if that is not easily seen.
    std::function<bool(const Claims&)> is_impossible;
};

/// Expands a claim by one step: schemas in it become claims. Unknown keywords are ignored. Errors:
/// invalid_argument (a keyword's value is invalid; with pointer), unsupported (a keyword that cannot be
/// enforced; with pointer). Source: JSON Schema draft 2020-12, core and validation; draft-07; `nullable` and
/// boolean `exclusiveMinimum` as in OpenAPI 3.0.
Result<Choices> choices_of(const KeywordContext& context, const Claim& claim);

} // namespace etna::grammar

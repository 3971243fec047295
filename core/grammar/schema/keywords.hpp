#pragma once

#include "core/grammar/schema/constraints.hpp"
#include "core/grammar/schema/document.hpp"

#include <functional>
#include <vector>

namespace etna::grammar {

/// One way in which something may hold: all of these claims and constraints together.
struct Alternative {
    Claims claims = {};
    Constraints constraints = {};
};

/// One of them holds; never, where there is none.
using Alternatives = std::vector<Alternative>;

/// All of them hold.
using Choices = std::vector<Alternatives>;

struct KeywordContext {
    const SchemaDocument& document;
    /// Takes keywords that cannot be enforced; null: they are errors.
    DroppedKeywords* dropped = nullptr;
    /// Whether no value can keep to all of them; false where that is not seen easily.
    std::function<bool(const Claims&)> is_impossible;
};

/// What a claim comes to, one step deep: schemas in it are claims in turn. Words that JSON Schema does not
/// know are no claims. Errors: invalid_argument (a keyword's value is not what it has to be; by pointer),
/// unsupported (a keyword that cannot be enforced; by pointer). Source: JSON Schema draft 2020-12, core and
/// validation; draft-07; `nullable` and boolean `exclusiveMinimum` as in OpenAPI 3.0.
Result<Choices> choices_of(const KeywordContext& context, const Claim& claim);

} // namespace etna::grammar

#pragma once

#include "core/grammar/schema/containers.hpp"
#include "core/grammar/schema/writing.hpp"

#include <functional>
#include <string_view>

namespace etna::grammar {

/// Encodes a text that may contain names of control tokens.
using MarkWriter = std::function<Expression(std::string_view)>;

/// Names that can be written literally between marks, or before a colon.
Result<Automaton> plain_names(Language& language);
/// Valid Python identifiers.
Result<Automaton> python_names(Language& language);

/// Members in Form::tagged: see Writing. Borrows all arguments; not thread-safe.
class TaggedMembers {
public:
    /// The values that satisfy claims: strings, or other kinds as JSON.
    struct Values {
        std::function<Result<Expression>(const Claims&, SchemaStrings&)> strings;
        std::function<Result<Expression>(const Claims&, JsonKinds)> json;
    };

    /// `dropped`: as KeywordContext::dropped. Errors: unsupported (too many marks).
    static Result<TaggedMembers> create(Language& language, const SchemaDocument& document,
                                        DroppedKeywords* dropped, const Writing& writing, MarkWriter mark,
                                        Values values);

    /// Errors: those of the values.
    Result<Expression> member(const MemberName& name, const Claims& claims);

    /// Whether an unlisted name can be written: not if the name is repeated after the value.
    [[nodiscard]] bool has_others() const;

private:
    TaggedMembers(Language& language, const SchemaDocument& document, DroppedKeywords* dropped,
                  const Writing& writing, MarkWriter mark, Values values, Automaton texts);

    [[nodiscard]] JsonKinds read_as(const MemberName& name) const;
    Expression written(const MemberName& name, const std::vector<std::string>& kinds, Expression value);
    Expression mark(std::string_view text, bool keeps_front, bool keeps_back);
    Expression any_of(const std::vector<std::string>& words);

    Language* language_;
    const Writing* writing_;
    MarkWriter mark_;
    Values values_;
    SchemaStrings strings_; ///< any string
    SchemaStrings texts_;   ///< strings that cannot be parsed as another value
};

} // namespace etna::grammar

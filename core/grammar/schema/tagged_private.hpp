#pragma once

#include "core/grammar/schema/containers_private.hpp"
#include "core/grammar/schema/writing.hpp"

#include <functional>
#include <optional>
#include <string_view>

namespace etna::grammar {

/// How a text with names of control tokens in it is written.
using MarkWriter = std::function<Expression(std::string_view)>;

/// Names that can stand between marks, or before a colon, as they are.
Result<Automaton> plain_names(Language& language);
/// Names that Python takes for one.
Result<Automaton> python_names(Language& language);

/// Members as Form::tagged has them: see Writing. Borrows all of it; not thread-safe.
class TaggedMembers {
public:
    /// What claims leave of a value: its strings, or its other kinds as JSON.
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

    /// Whether a name that is not known can be written: not where it comes again behind the value.
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
    SchemaStrings strings_; ///< any
    SchemaStrings texts_;   ///< that can be read as nothing else
};

} // namespace etna::grammar

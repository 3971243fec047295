#pragma once

#include "core/generate/answer_form.hpp"
#include "core/grammar/description.hpp"
#include "core/output/tools.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Internal to core/generate: the grammar of tool calls.
namespace etna::generate {

/// Builders of grammar descriptions.
namespace describe {

using grammar::Description;
using grammar::Notation;

inline Description literal(std::string_view text) {
    return {.notation = Notation::literal, .text = std::string(text)};
}
inline Description regex(std::string_view pattern) {
    return {.notation = Notation::regex, .text = std::string(pattern)};
}
inline Description sequence(std::vector<Description> parts) {
    return {.notation = Notation::sequence, .parts = std::move(parts)};
}
inline Description either(std::vector<Description> parts) {
    return parts.size() == 1 ? std::move(parts.front())
                             : Description{.notation = Notation::either, .parts = std::move(parts)};
}
inline Description repeated(Description part, uint32_t min = 0, uint32_t max = grammar::unbounded) {
    return {.notation = Notation::repeated, .parts = {std::move(part)}, .min = min, .max = max};
}
inline Description optional(Description part) {
    return repeated(std::move(part), 0, 1);
}
inline Description free_text(std::vector<std::string> without) {
    return {.notation = Notation::free_text, .choices = std::move(without)};
}
/// Up to 8 blanks, tabs and line ends.
inline Description blanks() {
    return regex("[ \\n\\r\\t]{0,8}");
}

} // namespace describe

/// Header text that is allowed if the message is JSON.
grammar::Description json_body(const output::Messages& messages);

/// Describes tool calls in a model's syntax. Borrows the form.
class ToolCallGrammar {
public:
    /// Errors: those of describe_answer().
    static Result<ToolCallGrammar> create(const AnswerForm& form);

    [[nodiscard]] bool offers_any() const { return !functions_.empty(); }
    /// Returns whether any function's arguments must match their schema.
    [[nodiscard]] bool has_strict() const;

    /// Where a text may contain calls, or mention their opening markers.
    enum class Place : uint8_t { content, reasoning };

    /// One or more sections with calls; in reasoning only those with an opening marker, nothing if there are
    /// none.
    [[nodiscard]] std::optional<grammar::Description> sections_in(Place place) const;
    [[nodiscard]] grammar::Description sections() const { return *sections_in(Place::content); }
    /// A message to one of the functions: a header that names it, the body marker and the call.
    [[nodiscard]] grammar::Description messages() const;
    /// Texts that open a section.
    [[nodiscard]] std::vector<std::string> opening_markers() const;

    /// Mentions of opening markers: what follows is not what the parser takes for a call there.
    [[nodiscard]] std::vector<grammar::Mention> mentions(Place place) const;

    /// Returns a regular expression for the starts of content that could be mistaken for a call of an own
    /// section without an opening marker; empty if every section has one.
    [[nodiscard]] std::string start_of_unmarked_call() const;

private:
    using Function = output::Function;
    using Pattern = output::Pattern;

    ToolCallGrammar(const AnswerForm& form, output::Tools tools, std::vector<Function> functions)
        : form_(&form), tools_(std::move(tools)), functions_(std::move(functions)) {}

    [[nodiscard]] grammar::Description section(const output::Section& section,
                                               grammar::Description calls) const;
    [[nodiscard]] grammar::Description section_calls(const output::Section& section,
                                                     grammar::Description call) const;
    [[nodiscard]] grammar::Description call(const output::Section& section, const Pattern& pattern) const;
    [[nodiscard]] grammar::Description after_name(const output::Section& section, const Pattern& pattern,
                                                  std::size_t part, const Function& function) const;
    [[nodiscard]] std::string start_of_call(const output::Section& section, Place place) const;
    [[nodiscard]] grammar::Description call_object() const;
    [[nodiscard]] grammar::Description field(const output::Section& section, const Pattern& pattern,
                                             output::Field field, const Function& function) const;
    [[nodiscard]] grammar::Description arguments(const Function& function, grammar::Writing writing) const;
    [[nodiscard]] static std::string relaxed_schema(const Function& function,
                                                    const grammar::Writing& writing);
    [[nodiscard]] grammar::Writing tagged_writing(const output::Section& section, const Pattern& pattern,
                                                  const Function& function) const;
    [[nodiscard]] grammar::Description marker(std::string_view text) const;
    [[nodiscard]] grammar::Description space() const;
    [[nodiscard]] bool must_match_schema(const Function& function) const;
    [[nodiscard]] bool takes_programs(const Function& function) const;
    [[nodiscard]] grammar::Description program() const;

    const AnswerForm* form_;
    output::Tools tools_;
    std::vector<Function> functions_;
};

} // namespace etna::generate

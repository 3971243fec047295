#pragma once

#include "core/generate/call_grammar.hpp"
#include "core/output/tools.hpp"

#include <string>
#include <utility>
#include <vector>

// Internal to core/generate: the parts of call_grammar.hpp.
namespace etna::generate {

/// Header text that is allowed if the message is JSON.
grammar::Description json_body(const output::Messages& messages);

/// Describes tool calls in a model's syntax. Borrows the form.
class CallWriter {
public:
    /// Errors: those of describe_answer().
    static Result<CallWriter> create(const AnswerForm& form);

    [[nodiscard]] bool offers_any() const { return !functions_.empty(); }
    /// Returns whether any function's arguments must match their schema.
    [[nodiscard]] bool has_strict() const;

    /// One or more sections with calls.
    [[nodiscard]] grammar::Description sections() const;
    /// A message to one of the functions: a header that names it, the body marker and the call.
    [[nodiscard]] grammar::Description messages() const;
    /// Texts that open a section.
    [[nodiscard]] std::vector<std::string> openings() const;

private:
    using Function = output::Function;
    using Pattern = output::Pattern;

    CallWriter(const AnswerForm& form, output::Tools tools, std::vector<Function> functions)
        : form_(&form), tools_(std::move(tools)), functions_(std::move(functions)) {}

    [[nodiscard]] grammar::Description section(const output::Section& section,
                                               grammar::Description calls) const;
    [[nodiscard]] grammar::Description several(const output::Section& section,
                                               grammar::Description call) const;
    [[nodiscard]] grammar::Description any_call(const Pattern& pattern) const;
    [[nodiscard]] grammar::Description behind_name(const Pattern& pattern, std::size_t part,
                                                   const Function& function) const;
    [[nodiscard]] grammar::Description any_object() const;
    [[nodiscard]] grammar::Description slot(output::Slot slot, const Function& function) const;
    [[nodiscard]] grammar::Description arguments(const Function& function, grammar::Writing writing) const;
    [[nodiscard]] std::string loose_schema(const Function& function, const grammar::Writing& writing) const;
    [[nodiscard]] grammar::Writing tagged(const Function& function) const;
    [[nodiscard]] grammar::Description mark(std::string_view text) const;
    [[nodiscard]] bool is_kept(const Function& function) const;
    [[nodiscard]] bool takes_programs(const Function& function) const;
    [[nodiscard]] grammar::Description program() const;

    const AnswerForm* form_;
    output::Tools tools_;
    std::vector<Function> functions_;
};

} // namespace etna::generate

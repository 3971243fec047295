#pragma once

#include "core/chat/output/tools.hpp"
#include "core/generate/call_grammar.hpp"

#include <string>
#include <utility>
#include <vector>

// Private to the room: the parts of call_grammar.hpp.
namespace etna::generate {

/// What may stand in a header where the message is JSON.
grammar::Description json_body(const chat::output::Messages& messages);

/// Writes calls as a model's syntax says. Borrows the form.
class CallWriter {
public:
    /// Errors: those of describe_answer().
    static Result<CallWriter> create(const AnswerForm& form);

    [[nodiscard]] bool offers_any() const { return !functions_.empty(); }
    /// Whether the arguments of one of them have to fit.
    [[nodiscard]] bool has_strict() const;

    /// One section with calls, or several.
    [[nodiscard]] grammar::Description sections() const;
    /// What a message for one of the functions holds behind `header`, which names it, and `body`.
    [[nodiscard]] grammar::Description messages() const;
    /// The texts that begin a section.
    [[nodiscard]] std::vector<std::string> openings() const;

private:
    using Function = chat::output::Function;
    using Pattern = chat::output::Pattern;

    CallWriter(const AnswerForm& form, chat::output::Tools tools, std::vector<Function> functions)
        : form_(&form), tools_(std::move(tools)), functions_(std::move(functions)) {}

    [[nodiscard]] grammar::Description section(const chat::output::Section& section,
                                               grammar::Description calls) const;
    [[nodiscard]] grammar::Description several(const chat::output::Section& section,
                                               grammar::Description call) const;
    [[nodiscard]] grammar::Description any_call(const Pattern& pattern) const;
    [[nodiscard]] grammar::Description behind_name(const Pattern& pattern, std::size_t part,
                                                   const Function& function) const;
    [[nodiscard]] grammar::Description any_object() const;
    [[nodiscard]] grammar::Description slot(chat::output::Slot slot, const Function& function) const;
    [[nodiscard]] grammar::Description arguments(const Function& function, grammar::Writing writing) const;
    [[nodiscard]] std::string loose_schema(const Function& function, const grammar::Writing& writing) const;
    [[nodiscard]] grammar::Writing tagged(const Function& function) const;
    [[nodiscard]] grammar::Description mark(std::string_view text) const;
    [[nodiscard]] bool is_kept(const Function& function) const;
    [[nodiscard]] bool takes_programs(const Function& function) const;
    [[nodiscard]] grammar::Description program() const;

    const AnswerForm* form_;
    chat::output::Tools tools_;
    std::vector<Function> functions_;
};

} // namespace etna::generate

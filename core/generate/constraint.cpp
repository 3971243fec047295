#include "core/generate/constraint.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace etna::generate {
namespace {

/// A walk through a grammar as the engine asks for it.
class GrammarConstraint final : public engine::Constraint {
public:
    explicit GrammarConstraint(std::shared_ptr<const grammar::Grammar> grammar) : walk_(std::move(grammar)) {}

    Result<Allowed> allowed() override {
        ETNA_TRY(const grammar::TokenMask* const mask, walk_.mask());
        return Allowed{.tokens = mask->words(), .may_end = walk_.may_end()};
    }
    void accept(TokenId token) override { walk_.accept(token); }
    Result<bool> is_over() override { return walk_.is_over(); }

private:
    grammar::Walk walk_;
};

/// The marks of reasoning that this model is known to write; none where it is not known to reason.
const chat::output::ReasoningMarks* marks_of(const Prompt& prompt) {
    if (prompt.syntax == nullptr)
        return nullptr;
    const auto& all = prompt.syntax->reasoning;
    const auto found = std::find_if(all.begin(), all.end(), [&](const chat::output::ReasoningMarks& marks) {
        return marks.expected || prompt.opening.find(marks.open) != std::string::npos;
    });
    return found == all.end() ? nullptr : &*found;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \n\r\t";
    const std::size_t first = std::min(text.find_first_not_of(blanks), text.size());
    return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

/// Whether the prompt ends within reasoning that it has begun.
bool has_opened(const Prompt& prompt, const chat::output::ReasoningMarks& marks) {
    const std::size_t open = prompt.opening.rfind(trimmed(marks.open));
    return open != std::string::npos && prompt.opening.find(trimmed(marks.close), open) == std::string::npos;
}

/// Whether the prompt has ended it already: none follows.
bool has_closed(const Prompt& prompt, const chat::output::ReasoningMarks& marks) {
    return prompt.opening.find(trimmed(marks.close)) != std::string::npos;
}

} // namespace

grammar::Vocabulary grammar_vocabulary(const text::Tokenizer& tokenizer, uint32_t size) {
    std::vector<std::string> bytes;
    std::map<std::string, TokenId, std::less<>> control_tokens;
    for (TokenId token = 0; token < tokenizer.size(); ++token) {
        const text::TokenType type = tokenizer.type(token);
        if (type != text::TokenType::control) {
            const bool is_text = type != text::TokenType::unknown && type != text::TokenType::unused;
            bytes.emplace_back(is_text ? tokenizer.bytes(token) : std::string_view());
            continue;
        }
        bytes.push_back(grammar::control_text(token));
        control_tokens.emplace(tokenizer.bytes(token), token);
    }
    for (const TokenId token : tokenizer.end_tokens())
        bytes[token].clear();
    bytes.resize(std::max<std::size_t>(bytes.size(), size));
    return grammar::Vocabulary(std::move(bytes), std::move(control_tokens));
}

Result<std::shared_ptr<const grammar::Grammar>> make_grammar(const Model& model, const Request& request,
                                                             const Prompt& prompt) {
    if (!request.grammar)
        return std::shared_ptr<const grammar::Grammar>();
    if (prompt.syntax != nullptr && !prompt.syntax->messages.open.empty()) {
        return Error{ErrorKind::unsupported,
                     "this model answers in messages with headers, which cannot be kept to a grammar yet",
                     "ask for JSON in words, or use another model"};
    }
    grammar::Description description = *request.grammar;
    const chat::output::ReasoningMarks* const marks = marks_of(prompt);
    if (marks != nullptr && !has_closed(prompt, *marks)) {
        description.reasoning = grammar::Reasoning{.open = std::string(trimmed(marks->open)),
                                                   .close = std::string(trimmed(marks->close)),
                                                   .is_open = has_opened(prompt, *marks)};
    }
    return model.grammars().make(description);
}

std::shared_ptr<engine::Constraint> make_constraint(const std::shared_ptr<const grammar::Grammar>& grammar) {
    return grammar == nullptr ? nullptr : std::make_shared<GrammarConstraint>(grammar);
}

} // namespace etna::generate

#include "core/generate/constraint.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
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

using chat::output::ReasoningMarks;

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \n\r\t";
    const std::size_t first = std::min(text.find_first_not_of(blanks), text.size());
    return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

grammar::Reasoning between(const ReasoningMarks& marks, bool is_open) {
    return {.open = std::string(trimmed(marks.open)),
            .close = std::string(trimmed(marks.close)),
            .is_open = is_open};
}

/// Reasoning that the prompt has begun: by the mark that stands last in it.
std::optional<grammar::Reasoning> begun_reasoning(const Prompt& prompt) {
    const ReasoningMarks* last = nullptr;
    std::size_t last_place = 0;
    for (const ReasoningMarks& marks : prompt.syntax->reasoning) {
        const std::size_t place =
            marks.open.empty() ? std::string::npos : prompt.text.rfind(trimmed(marks.open));
        if (place != std::string::npos && (last == nullptr || place > last_place)) {
            last = &marks;
            last_place = place;
        }
    }
    return last == nullptr ? std::nullopt : std::optional(between(*last, true));
}

/// What may come before the answer; nothing where the model does not reason, was told not to, or has been
/// written an end of it.
std::optional<grammar::Reasoning> reasoning_before(const Request& request, const Prompt& prompt) {
    const auto* const conversation = std::get_if<chat::Conversation>(&request.prompt);
    if (prompt.syntax == nullptr || conversation == nullptr)
        return std::nullopt;
    if (chat::output::start_after(*prompt.syntax, prompt.text) == chat::output::Start::reasoning)
        return begun_reasoning(prompt);
    const auto& all = prompt.syntax->reasoning;
    const auto expected = std::find_if(all.begin(), all.end(), [](const ReasoningMarks& marks) {
        return marks.expected && !marks.open.empty() && !marks.close.empty();
    });
    const bool is_off = conversation->thinking == chat::Thinking::off || expected == all.end() ||
                        trimmed(prompt.text).ends_with(trimmed(expected->close));
    return is_off ? std::nullopt : std::optional(between(*expected, false));
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
    if (!prompt.tools.empty()) {
        return Error{ErrorKind::unsupported, "an answer that is kept to a grammar cannot call tools yet",
                     "offer no tools, or leave out what the answer is kept to"};
    }
    if (prompt.syntax != nullptr && !prompt.syntax->messages.open.empty()) {
        return Error{ErrorKind::unsupported,
                     "this model answers in messages with headers, which cannot be kept to a grammar yet",
                     "ask for JSON in words, or use another model"};
    }
    grammar::Description description = *request.grammar;
    description.reasoning = reasoning_before(request, prompt);
    description.may_begin_with_blank =
        model.tokenizer().strips_leading_space() && prompt.answer == text::TextPosition::beginning;
    return model.grammars().make(description);
}

std::shared_ptr<engine::Constraint> make_constraint(const std::shared_ptr<const grammar::Grammar>& grammar) {
    return grammar == nullptr ? nullptr : std::make_shared<GrammarConstraint>(grammar);
}

} // namespace etna::generate

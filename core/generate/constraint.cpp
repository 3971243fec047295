#include "core/generate/constraint.hpp"

#include "core/generate/call_grammar.hpp"
#include "core/grammar/until.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace etna::generate {
namespace {

/// Adapts grammar::GrammarMatcher to engine::Constraint.
class GrammarConstraint final : public engine::Constraint {
public:
    GrammarConstraint(grammar::GrammarMatcher walk, const text::Tokenizer* tokenizer)
        : walk_(std::move(walk)), tokenizer_(tokenizer) {}

    bool prepare(Part part, const TimeSlice& piece) override;
    Result<Allowed> allowed() override {
        ETNA_TRY(const grammar::TokenMask* const mask, walk_.mask());
        return Allowed{.tokens = mask->words(), .may_end = walk_.may_end()};
    }
    void accept(TokenId token) override { walk_.accept(token); }
    Result<bool> is_over() override { return walk_.is_over(); }
    [[nodiscard]] std::shared_ptr<engine::Constraint> fork() const override {
        return std::make_shared<GrammarConstraint>(walk_, tokenizer_);
    }
    std::vector<TokenId> forced() override { return forced_; }

private:
    void spell_forced();

    grammar::GrammarMatcher walk_;
    std::vector<TokenId> forced_;
    const text::Tokenizer* tokenizer_; ///< borrowed; null: no forced tokens
};

constexpr std::size_t forced_bytes_max = 512;

bool GrammarConstraint::prepare(Part part, const TimeSlice& piece) {
    const grammar::Language::Stop stop = [&piece] {
        const bool is_cancelled = piece.is_cancelled != nullptr && *piece.is_cancelled;
        return is_cancelled || std::chrono::steady_clock::now() >= piece.until;
    };
    const bool wants_forced = part == Part::forced && tokenizer_ != nullptr;
    const bool is_known =
        walk_.prepare({.mask = part == Part::tokens, .forced_bytes = wants_forced ? forced_bytes_max : 0},
                      {.stop = &stop, .may_wait = piece.may_wait, .may_move = piece.may_wait});
    if (is_known && wants_forced)
        spell_forced();
    return is_known;
}

/// Tokenizes the forced text. The last token is left to the model, because it may be a prefix of a longer
/// one.
void GrammarConstraint::spell_forced() {
    forced_.clear();
    const std::string text = walk_.forced(forced_bytes_max);
    if (text.size() < 2)
        return;
    auto tokens =
        tokenizer_->encode(text, {.special = text::SpecialTokens::literal, .bos = text::AddBos::never});
    if (!tokens)
        return;
    std::string spelled; // SentencePiece may prepend a space, which does not match
    for (const TokenId token : *tokens)
        spelled += tokenizer_->type(token) == text::TokenType::control ? "" : tokenizer_->bytes(token);
    if (spelled != text)
        return;
    tokens->pop_back();
    forced_ = std::move(tokens).value();
}

using output::ReasoningMarks;

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

/// Returns the reasoning that the prompt has opened, by the last opening marker in it.
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

/// Returns the reasoning allowed before the answer; empty if the model does not reason, reasoning is off, or
/// the prompt already ended it.
std::optional<grammar::Reasoning> reasoning_before(const Request& request, const Prompt& prompt) {
    const auto* const conversation = std::get_if<chat::Conversation>(&request.prompt);
    if (prompt.syntax == nullptr || conversation == nullptr)
        return std::nullopt;
    if (output::start_after(*prompt.syntax, prompt.text) == output::Start::reasoning)
        return begun_reasoning(prompt);
    const auto& all = prompt.syntax->reasoning;
    const auto expected = std::find_if(all.begin(), all.end(), [](const ReasoningMarks& marks) {
        return marks.expected && !marks.open.empty() && !marks.close.empty();
    });
    const bool is_off = !prompt.may_think || expected == all.end() ||
                        trimmed(prompt.text).ends_with(trimmed(expected->close));
    return is_off ? std::nullopt : std::optional(between(*expected, false));
}

/// Returns whether a token of this name is an end token.
bool is_end(const text::Tokenizer& tokenizer, std::string_view name) {
    const auto ends = tokenizer.end_tokens();
    const auto token = tokenizer.find(name);
    return token && std::binary_search(ends.begin(), ends.end(), *token);
}

/// Returns whether the prompt ends with the header of a message of the model.
bool has_begun_body(const output::Syntax& syntax, std::string_view prompt) {
    const std::string_view mark = trimmed(syntax.messages.body);
    return !mark.empty() && trimmed(prompt).ends_with(mark);
}

/// Describes the answer's grammar; empty if it is unconstrained.
Result<std::optional<grammar::Description>> described(const Model& model, const Request& request,
                                                      const Prompt& prompt) {
    const auto* const conversation = std::get_if<chat::Conversation>(&request.prompt);
    if (prompt.syntax == nullptr || conversation == nullptr)
        return request.grammar;
    const output::Syntax& syntax = *prompt.syntax;
    const auto demanded = prompt.tools.empty() ? std::nullopt : conversation->demanded_tool;
    const bool is_named = demanded && !demanded->empty();
    ETNA_TRY(
        auto description,
        describe_answer({.syntax = syntax,
                         .tools = prompt.tools,
                         .demanded = demanded,
                         .are_parallel = conversation->calls == chat::CallCount::any && !is_named,
                         .are_strict = request.has_strict_tools,
                         .is_lenient = request.has_lenient_tools,
                         .content = request.grammar,
                         .is_end = [&](std::string_view name) { return is_end(model.tokenizer(), name); },
                         .start = output::start_after(syntax, prompt.text),
                         .has_body = has_begun_body(syntax, prompt.text)}));
    if (!description || !syntax.messages.open.empty())
        return description;
    // A required call starts the answer, unless reasoning is already open or was requested.
    const bool may_think = !demanded || conversation->thinking == chat::Thinking::on ||
                           output::start_after(syntax, prompt.text) == output::Start::reasoning;
    if (may_think)
        description->reasoning = reasoning_before(request, prompt);
    if (description->reasoning && syntax.call_ends_reasoning && !prompt.tools.empty()) {
        for (const output::Section& section : syntax.sections) {
            for (const std::string_view open : section.open)
                description->reasoning->without.emplace_back(trimmed(open));
        }
    }
    return description;
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
                                                             const Prompt& prompt,
                                                             const CancelPoll& is_cancelled) {
    ETNA_TRY(auto description, described(model, request, prompt));
    if (!description)
        return std::shared_ptr<const grammar::Grammar>();
    description->may_begin_with_blank =
        model.tokenizer().strips_leading_space() && prompt.answer == text::TextPosition::start;
    return model.grammars().make(*description, is_cancelled, request.client);
}

std::shared_ptr<engine::Constraint> make_constraint(const std::shared_ptr<const grammar::Grammar>& grammar,
                                                    const text::Tokenizer* forcing) {
    return grammar == nullptr
               ? nullptr
               : std::make_shared<GrammarConstraint>(grammar::GrammarMatcher(grammar), forcing);
}

} // namespace etna::generate

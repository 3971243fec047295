#include "core/generate/constraint.hpp"

#include "core/generate/answer_grammar.hpp"
#include "core/output/markers.hpp"

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
    GrammarConstraint(grammar::GrammarMatcher matcher, const text::Tokenizer* tokenizer)
        : matcher_(std::move(matcher)), tokenizer_(tokenizer) {}

    bool prepare(Part part, const TimeSlice& slice) override;
    Result<Allowed> allowed() override {
        ETNA_TRY(const grammar::TokenMask* const mask, matcher_.mask());
        return Allowed{.tokens = mask->words(), .may_end = matcher_.may_end()};
    }
    void accept(TokenId token) override { matcher_.accept(token); }
    Result<bool> is_over() override { return matcher_.is_over(); }
    [[nodiscard]] std::shared_ptr<engine::Constraint> fork() const override {
        return std::make_shared<GrammarConstraint>(matcher_, tokenizer_);
    }
    std::vector<TokenId> forced() override { return forced_; }

private:
    void encode_forced();

    grammar::GrammarMatcher matcher_;
    std::vector<TokenId> forced_;
    const text::Tokenizer* tokenizer_; ///< borrowed; null: no forced tokens
};

constexpr std::size_t forced_bytes_max = 512;

bool GrammarConstraint::prepare(Part part, const TimeSlice& slice) {
    const grammar::Language::Stop stop = [&slice] {
        const bool is_cancelled = slice.is_cancelled != nullptr && *slice.is_cancelled;
        return is_cancelled || std::chrono::steady_clock::now() >= slice.until;
    };
    const bool needs_forced = part == Part::forced && tokenizer_ != nullptr;
    const bool is_known =
        matcher_.prepare({.mask = part == Part::tokens, .forced_bytes = needs_forced ? forced_bytes_max : 0},
                         {.stop = &stop, .may_wait = slice.may_wait, .may_move = slice.may_wait});
    if (is_known && needs_forced)
        encode_forced();
    return is_known;
}

/// Tokenizes the forced text. The last token is left to the model, because it may be a prefix of a longer
/// one.
void GrammarConstraint::encode_forced() {
    forced_.clear();
    const std::string text = matcher_.forced(forced_bytes_max);
    if (text.size() < 2)
        return;
    auto tokens =
        tokenizer_->encode(text, {.special = text::SpecialTokens::literal, .bos = text::AddBos::never});
    if (!tokens)
        return;
    std::string decoded; // SentencePiece may prepend a space, which does not match
    for (const TokenId token : *tokens)
        decoded += tokenizer_->type(token) == text::TokenType::control ? "" : tokenizer_->bytes(token);
    if (decoded != text)
        return;
    tokens->pop_back();
    forced_ = std::move(tokens).value();
}

using output::ReasoningMarkers;
using output::trim;

grammar::Reasoning reasoning_between(const ReasoningMarkers& pair, bool is_open) {
    return {.open = std::string(trim(pair.open)), .close = std::string(trim(pair.close)), .is_open = is_open};
}

/// Returns the reasoning that the prompt has opened, by the last opening marker in it.
std::optional<grammar::Reasoning> open_reasoning(const Prompt& prompt) {
    const ReasoningMarkers* last = nullptr;
    std::size_t last_offset = 0;
    for (const ReasoningMarkers& pair : prompt.syntax->reasoning) {
        const std::size_t offset = pair.open.empty() ? std::string::npos : prompt.text.rfind(trim(pair.open));
        if (offset != std::string::npos && (last == nullptr || offset > last_offset)) {
            last = &pair;
            last_offset = offset;
        }
    }
    return last == nullptr ? std::nullopt : std::optional(reasoning_between(*last, true));
}

/// Returns the reasoning allowed before the answer; empty if the model does not reason, reasoning is off, or
/// the prompt already ended it.
std::optional<grammar::Reasoning> reasoning_before(const Request& request, const Prompt& prompt) {
    const auto* const conversation = std::get_if<chat::Conversation>(&request.prompt);
    if (prompt.syntax == nullptr || conversation == nullptr)
        return std::nullopt;
    if (output::start_after(*prompt.syntax, prompt.text) == output::Start::reasoning)
        return open_reasoning(prompt);
    const auto& all = prompt.syntax->reasoning;
    const auto expected = std::find_if(all.begin(), all.end(), [](const ReasoningMarkers& pair) {
        return pair.expected && !pair.open.empty() && !pair.close.empty();
    });
    const bool is_off =
        !prompt.may_think || expected == all.end() || trim(prompt.text).ends_with(trim(expected->close));
    return is_off ? std::nullopt : std::optional(reasoning_between(*expected, false));
}

/// Returns whether a token of this name is an end token.
bool is_end_token(const text::Tokenizer& tokenizer, std::string_view name) {
    const auto ends = tokenizer.end_tokens();
    const auto token = tokenizer.find(name);
    return token && std::binary_search(ends.begin(), ends.end(), *token);
}

/// Returns whether the prompt ends with the header of a message from the model.
bool is_in_body(const output::Syntax& syntax, std::string_view prompt) {
    const std::string_view marker = trim(syntax.messages.body);
    return !marker.empty() && trim(prompt).ends_with(marker);
}

/// Returns the request's grammar with its white space.
std::optional<grammar::Description> content_grammar(const Request& request) {
    std::optional<grammar::Description> content = request.grammar;
    if (content)
        content->spacing = request.json_spacing;
    return content;
}

/// Describes the answer's grammar; empty if it is unconstrained.
Result<std::optional<grammar::Description>>
describe_constraint(const text::Tokenizer& tokenizer, const Request& request, const Prompt& prompt) {
    const auto* const conversation = std::get_if<chat::Conversation>(&request.prompt);
    if (prompt.syntax == nullptr || conversation == nullptr)
        return content_grammar(request);
    const output::Syntax& syntax = *prompt.syntax;
    const auto required = prompt.tools.empty() ? std::nullopt : conversation->required_tool;
    const bool is_named = required && !required->empty();
    const AnswerForm form = {
        .syntax = syntax,
        .tools = prompt.tools,
        .required = required,
        .allows_parallel = conversation->calls == chat::CallCount::any && !is_named,
        .is_strict = request.has_strict_tools,
        .spacing = request.json_spacing,
        .is_lenient = request.has_lenient_tools,
        .content = content_grammar(request),
        .is_end_token = [&](std::string_view name) { return is_end_token(tokenizer, name); },
        .start = output::start_after(syntax, prompt.text),
        .may_reason = !request.grammar || conversation->thinking != chat::Thinking::off,
        .starts_in_body = is_in_body(syntax, prompt.text)};
    ETNA_TRY(auto description, describe_answer(form));
    if (!description || !syntax.messages.open.empty())
        return description;
    // A required call starts the answer, unless reasoning is already open or was requested.
    const bool may_think =
        !required || conversation->thinking == chat::Thinking::on || form.start == output::Start::reasoning;
    if (may_think)
        description->reasoning = reasoning_before(request, prompt);
    if (description->reasoning)
        ETNA_CHECK(end_open_reasoning(form, *description));
    return description;
}

} // namespace

Result<std::shared_ptr<const grammar::Grammar>> make_grammar(const Model& model, const Request& request,
                                                             const Prompt& prompt,
                                                             const CancelPoll& is_cancelled) {
    ETNA_TRY(auto description, describe_constraint(model.file().tokenizer, request, prompt));
    if (!description)
        return std::shared_ptr<const grammar::Grammar>();
    description->may_begin_with_blank =
        model.file().tokenizer.strips_leading_space() && prompt.answer == text::TextPosition::start;
    return model.grammars().make(*description, is_cancelled, request.client);
}

std::shared_ptr<engine::Constraint> make_constraint(const std::shared_ptr<const grammar::Grammar>& grammar,
                                                    const text::Tokenizer* forcing) {
    return grammar == nullptr
               ? nullptr
               : std::make_shared<GrammarConstraint>(grammar::GrammarMatcher(grammar), forcing);
}

StopStringConstraint::StopStringConstraint(const text::Tokenizer& tokenizer, Options options,
                                           std::shared_ptr<engine::Constraint> inner)
    : shown_(std::make_shared<std::vector<TokenId>>(options.detokenize.shown.begin(),
                                                    options.detokenize.shown.end())),
      detokenizer_(
          tokenizer,
          {.control = options.detokenize.control, .position = options.detokenize.position, .shown = *shown_}),
      text_(std::move(options.text)), min_tokens_(options.min_tokens), inner_(std::move(inner)) {}

StopStringConstraint::StopStringConstraint(const StopStringConstraint& other)
    : Constraint(other), shown_(other.shown_), detokenizer_(other.detokenizer_), text_(other.text_),
      tokens_(other.tokens_), min_tokens_(other.min_tokens_),
      inner_(other.inner_ == nullptr ? nullptr : other.inner_->fork()) {}

bool StopStringConstraint::prepare(Part part, const TimeSlice& slice) {
    return inner_ == nullptr || inner_->prepare(part, slice);
}

Result<engine::Constraint::Allowed> StopStringConstraint::allowed() {
    return inner_ == nullptr ? Result<Allowed>(Allowed{}) : inner_->allowed();
}

void StopStringConstraint::accept(TokenId token) {
    const bool is_exempt = ++tokens_ <= min_tokens_;
    text_.push(detokenizer_.push(token), is_exempt ? AnswerText::Stops::ignored : AnswerText::Stops::found);
    if (inner_ != nullptr)
        inner_->accept(token);
}

Result<bool> StopStringConstraint::is_over() {
    if (text_.matched())
        return true;
    return inner_ == nullptr ? Result<bool>(false) : inner_->is_over();
}

std::shared_ptr<engine::Constraint> StopStringConstraint::fork() const {
    return std::make_shared<StopStringConstraint>(*this);
}

} // namespace etna::generate
